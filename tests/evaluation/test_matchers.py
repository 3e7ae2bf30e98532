"""Rows of matching networks: on the very candidates of the questions asked by entity and aspect, and nowhere else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from test_published_rows import settings  # noqa: F401 - a fixture

from evaluation.baselines import matchers
from evaluation.baselines.trained import describe_trained
from evaluation.plan import identity
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.task import Corpus, Question, Task
from mappings.documents import Document, Section
from mappings.errors import InvalidInput, NotFound, Unavailable
from search.settings import Settings

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
TEXTS = {"a": "The cure of gout.", "b": "The cause of gout.", "c": "The cause of pain.", "d": "Gout, cause and cure."}


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained network of each of two models, on vectors of a few words."""
    pytest.importorskip("torch", reason="the train extra is not installed")
    from tiny_matchers import make_vectors

    from encoders.training.matching.checkpoint import save_matcher
    from encoders.training.matching.inputs import Frequencies, WordTable
    from encoders.training.matching.matcher import Matcher
    from encoders.training.matching.recipe import MatcherRecipe
    from encoders.training.recipe import Share

    folder, vectors = tmp_path_factory.mktemp("nets"), make_vectors()
    vectors.save(folder / "words.npz")
    for model in ("drmm", "k-nrm"):
        recipe = MatcherRecipe(model, model, {"slots": Share()}, words=str(folder / "words.npz"), units=4)
        table = WordTable(vectors, Frequencies.count(TEXTS.values()), 20, 200)
        save_matcher(folder / model, recipe, Matcher(recipe, vectors.dimension), table)
    return folder


def make_task(**more: str) -> Task:
    texts = TEXTS | more
    documents = [Document(id=key, title="", sections=(Section("", text),)) for key, text in texts.items()]
    questions = (Question("q", entity="gout", aspect="cause"), Question("r", entity="pain", aspect="cause"))
    corpus = Corpus("small", "articles", lambda: documents)
    return Task("small", corpus, questions, {"q": {"b": 1}, "r": {"c": 1}}, ("Success@1",), candidates=3, leads=True)


def test_each_network_ranks_the_chosen_passages_of_each_question(nets: Path) -> None:
    from encoders.training.matching.checkpoint import load_matcher

    chosen = {"q": frozenset("abd"), "r": frozenset("bc")}
    steps: list[tuple[int, int]] = []
    found = dict(matchers.rank_matchers(make_task(), nets, chosen, lambda done, of: steps.append((done, of))))
    assert [*found] == ["drmm", "k-nrm"]
    assert {name: set(keys) for name, keys in found["drmm"].items()} == chosen
    assert steps == [(1, 2), (2, 2)] * 2
    scores = dict(
        zip(
            "abd",
            load_matcher(nets / "drmm").score("gout cause", [TEXTS[key] for key in "abd"]),
            strict=True,
        )
    )
    assert found["drmm"]["q"] == sorted(scores, key=lambda key: (-scores[key], key))


def test_passages_without_a_word_come_last(nets: Path) -> None:
    chosen = {"q": frozenset("abef"), "r": frozenset("ef")}
    found = dict(matchers.rank_matchers(make_task(e="**", f="-"), nets, chosen))
    for run in found.values():
        assert (run["q"][2:], set(run["q"][:2]), run["r"]) == (["e", "f"], {"a", "b"}, ["e", "f"])


def test_a_folder_without_networks_is_named_and_so_is_a_missing_extra(tmp_path: Path, monkeypatch) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(NotFound, match="holds no trained"):
            describe_trained(folder)
    monkeypatch.setitem(sys.modules, "encoders.training.matching.checkpoint", None)
    monkeypatch.delattr("encoders.training.matching.checkpoint", raising=False)
    with pytest.raises(Unavailable, match="matching networks need"):
        matchers.describe_matchers(tmp_path)


def test_medquad_has_their_rows_beside_the_published_ones(nets: Path, settings: Settings) -> None:  # noqa: F811
    options = SuiteOptions(systems=nets)
    report = run_suite("medquad", options, settings)
    rows = {row["system"]: row for row in report["rows"]}
    assert [name for name in rows if name.startswith(("drmm", "k-nrm"))] == [
        "drmm, entity + aspect",
        "k-nrm, entity + aspect",
    ]
    row = rows["drmm, entity + aspect"]
    assert "not zero-shot" in row["note"]
    assert row["measures"].keys() == rows["bm25, entity + aspect"]["measures"].keys()
    assert row["measures"]["Success@10"].keys() == {"value", "low", "high"}
    assert report["command"] == f"medley evaluate medquad --systems {nets.name}"
    assert report["models"]["systems"] == matchers.describe_matchers(nets)
    without = run_suite("medquad", SuiteOptions(), settings)
    kept = [row for row in report["rows"] if not row["system"].startswith(("drmm", "k-nrm"))]
    assert kept == without["rows"]  # they change no other row


def test_they_are_refused_where_no_task_has_their_set_up(nets: Path, settings: Settings) -> None:  # noqa: F811
    for options in (SuiteOptions(systems=nets, full=True), SuiteOptions(systems=nets, variants=False)):
        with pytest.raises(InvalidInput, match="leave out --full and --no-variants"):
            run_suite("medquad", options, settings)
    with pytest.raises(NotFound):
        run_suite("medquad", SuiteOptions(systems=settings.home), settings)


def test_a_kept_report_is_that_of_the_same_networks(nets: Path, settings: Settings) -> None:  # noqa: F811
    def decided(folder: Path | None) -> str:
        return identity("medquad", SuiteOptions(systems=folder), settings)[1]

    copy = settings.home / nets.name
    for name in ("drmm", "k-nrm"):
        for file in ("matcher.json", "matcher.safetensors"):
            target = copy / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((nets / name / file).read_bytes())
    assert decided(copy) == decided(nets) != decided(None)
    spoilt = json.loads((target.parent / "matcher.json").read_text())
    (target.parent / "matcher.json").write_text(json.dumps(spoilt, indent=3))
    assert decided(copy) != decided(nets)
