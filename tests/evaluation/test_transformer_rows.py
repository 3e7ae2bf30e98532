"""Rows of runs and model directories: each model among the very candidates of a task, read as it was trained."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("ir_measures")
pytest.importorskip("rank_bm25")

import tiny
from test_claims import folder as headlines_folder

from encoders.training.recipe import Recipe, Share
from encoders.training.runs.ranker import find_rankers, load_ranker
from encoders.training.runs.train import train
from evaluation.baselines.trained import describe_trained, rank_systems, rank_trained, require_systems
from evaluation.baselines.transformers import rank_shipped
from evaluation.measures import ordered
from evaluation.plan import identity
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.task import Corpus, Question, Task
from mappings.documents import Document, Section
from mappings.errors import InvalidInput, ModelError, NotFound
from search.settings import Settings
from tests.training.tiny_models import BI, CROSS, WORDS, write_base, write_pairs

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PAPER = replace(
    BI, objective="whole-batch", pooling="cls", similarity="dot", towers="separate", markers="tokens", temperature=1.0,
    negatives=0, tasks={"claim": Share(repeat=4, context=0.0)},
)  # fmt: skip
RECIPES: Mapping[str, Recipe] = {
    "a-bi": PAPER,
    "a-cross": replace(CROSS, objective="two-class-pairs", negatives=2, tasks={"claim": Share(repeat=4)}),
    "a-poly": replace(PAPER, kind="poly-encoder", codes="tokens"),
}
TEXTS = {f"d{place}": f"{word} help the old" + " in pain" * place for place, word in enumerate(WORDS[:6])}
CHOSEN = {"q": ("d0", "d1", "d4"), "r": ("d2", "d5")}
QUESTIONS = (Question("q", "statins stop"), Question("r", entity="masks", aspect="raise"))
SETTINGS = Settings(encoder="hashing-256", reranker="none")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short run of each kind, and one without a model."""
    home = tmp_path_factory.mktemp("runs")
    base, pairs = write_base(home / "base"), write_pairs(home / "pairs")
    for name, recipe in RECIPES.items():
        train(replace(recipe, name=name, base=str(base), steps=3, batch=4), pairs, home / "all" / name)
    (home / "all" / "unfinished").mkdir()
    return home / "all"


def make_task(candidates: int | None = 3, listed: int = 0, depth: int = 0) -> Task:
    documents = [Document(id=key, title="Sleep", sections=(Section("", text),)) for key, text in TEXTS.items()]
    corpus, answers = Corpus("small", "abstracts", lambda: documents), {"q": {"d0": 1}, "r": {"d2": 1}}
    return Task(
        "small", corpus, QUESTIONS, answers, ("RR",), candidates=candidates, leads=True, listed=listed, depth=depth
    )


def by_hand(run: Path, question: Question, keys: tuple[str, ...]) -> list[str]:
    """The order by scores of each text alone, with the title where the recipe shows titles."""
    ranker = load_ranker(run)
    texts = [f"Sleep {TEXTS[key]}" if ranker.shows_titles else TEXTS[key] for key in keys]
    if ranker.recipe.kind == "cross-encoder":
        scores = [float(ranker.score(question.words, [text])[0]) for text in texts]
    else:
        scores = [float(ranker.compare([question.words], [text], np.ones((1, 1), bool))[0, 0]) for text in texts]
    return ordered(dict(zip(keys, scores, strict=True)))


def test_each_run_ranks_the_chosen_texts_as_it_reads_each_alone(runs: Path, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    settings = replace(SETTINGS, home=tmp_path)
    found = dict(rank_trained(make_task(), runs, CHOSEN, settings, lambda done, of: steps.append((done, of))))
    assert [*found] == ["a-bi", "a-cross", "a-poly"]
    assert {done == of for done, of in steps} == {True, False}
    for name, run in found.items():
        assert run == {item.id: by_hand(runs / name, item, CHOSEN[item.id]) for item in QUESTIONS}, name
    assert [load_ranker(place).shows_titles for place in find_rankers(runs).values()] == [False, True, False]


def test_a_bi_encoder_ranks_everything_where_there_are_no_candidates_and_others_the_list(
    runs: Path, tmp_path: Path
) -> None:
    task, settings = make_task(None, listed=2, depth=4), replace(SETTINGS, home=tmp_path)
    found = rank_systems(task, {"BM25+†": {"q": ["d4", "d1", "d0"], "r": ["d5"]}}, SuiteOptions(systems=runs), settings)
    assert [*found] == ["a-bi", "a-cross", "a-poly"]  # nothing reranks here, so nothing shipped has a row
    assert {name: len(keys) for name, keys in found["a-bi"].items()} == {"q": 4, "r": 4}
    for name in ("a-cross", "a-poly"):
        assert {key: set(keys) for key, keys in found[name].items()} == {"q": {"d4", "d1"}, "r": {"d5"}}
    alone = rank_systems(task, {}, SuiteOptions(systems=runs), settings)
    assert [*alone] == ["a-bi"]
    assert alone["a-bi"] == found["a-bi"]


def test_scores_of_a_cross_encoder_are_kept_until_its_run_changes(runs: Path, tmp_path: Path, monkeypatch) -> None:
    settings = replace(SETTINGS, home=tmp_path / "home")
    copy = tmp_path / "copy"
    shutil.copytree(runs / "a-cross", copy / "a-cross")
    (first,) = rank_trained(make_task(), copy, CHOSEN, settings)
    before = describe_trained(copy)
    report = json.loads((copy / "a-cross/report.json").read_text())
    report["recipe"]["max_length"] = 70
    (copy / "a-cross/report.json").write_text(json.dumps(report))
    assert describe_trained(copy) != before
    shutil.copyfile(runs / "a-cross/report.json", copy / "a-cross/report.json")
    monkeypatch.setattr("encoders.training.runs.ranker.RunRanker.score", None)  # would fail if it were asked again
    assert [*rank_trained(make_task(), copy, CHOSEN, settings)] == [first]


def test_a_model_directory_has_a_row_beside_the_runs(runs: Path, tmp_path: Path) -> None:
    for kind in ("bi-encoder", "cross-encoder"):
        tiny.write_artifact(tmp_path / "models" / kind, kind)
    settings = replace(SETTINGS, home=tmp_path / "home")
    found = dict(rank_trained(make_task(), tmp_path / "models", CHOSEN, settings))
    assert [*found] == ["bi-encoder", "cross-encoder"]
    assert all({name: set(keys) for name, keys in run.items()} == {"q": {"d0", "d1", "d4"}, "r": {"d2", "d5"}} for run in found.values())  # fmt: skip
    assert describe_trained(tmp_path / "models").keys() == found.keys()


def test_the_shipped_reranker_reads_the_same_candidates(tmp_path: Path) -> None:
    tiny.write_artifact(tmp_path / "models" / "tiny-cross", "cross-encoder")
    settings = replace(SETTINGS, home=tmp_path / "home", models=tmp_path / "models", reranker="tiny-cross")
    found = rank_shipped(make_task(None, listed=3), CHOSEN, settings)
    assert [*found] == ["tiny-cross"]
    assert {name: set(keys) for name, keys in found["tiny-cross"].items()} == {
        key: set(keys) for key, keys in CHOSEN.items()
    }
    assert rank_shipped(make_task(), CHOSEN, replace(settings, reranker="none")) == {}


def test_the_suite_of_claims_ranks_the_first_candidates_of_bm25(runs: Path, tmp_path: Path) -> None:
    abstracts = [{"id": key, "title": "Sleep", "text": text} for key, text in TEXTS.items()]
    asked = [
        {"id": "1", "headline": "statins help the old", "abstracts": ["d0"]},
        {"id": "2", "headline": "nothing of this kind", "abstracts": ["d5"]},
    ]
    mine = headlines_folder(tmp_path / "mine", asked, abstracts)
    options = SuiteOptions(folder=mine, systems=runs)
    report = run_suite("claims", options, replace(SETTINGS, home=tmp_path / "home"))
    rows = {row["system"]: row for row in report["rows"]}
    assert [name for name in rows if name.startswith("a-")] == ["a-bi", "a-cross", "a-poly"]
    assert rows["a-cross"]["measures"].keys() == rows["BM25+†"]["measures"].keys()
    assert report["command"] == f"medley evaluate claims mine --systems {runs.name}"
    assert report["models"]["systems"] == describe_trained(runs)
    tests = [(test["system"], test["against"]) for test in report["tests"] if test["system"].startswith("a-")]
    assert tests == [
        *(("a-bi", "a-cross"), ("a-bi", "a-poly"), ("a-cross", "a-poly")),
        *((name, "BM25+†") for name in ("a-bi", "a-cross", "a-poly")),
    ]
    part = run_suite("claims", replace(options, reading="B"), replace(SETTINGS, home=tmp_path / "home"))
    assert [row["system"] for row in part["rows"] if row["system"].startswith("a-")] == ["a-bi, reading B"]
    assert identity("claims", options, SETTINGS) != identity("claims", replace(options, systems=None), SETTINGS)


def test_what_can_rank_nothing_is_named_before_anything_is_indexed(runs: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, home=tmp_path / "home")
    mine = headlines_folder(tmp_path / "mine")
    shutil.copytree(runs / "a-cross", tmp_path / "crosses" / "a-cross")
    options = SuiteOptions(folder=mine, split="test", systems=tmp_path / "crosses", reading="A")
    with pytest.raises(InvalidInput, match="holds no bi-encoder; with --reading only these rank"):
        run_suite("claims", options, settings)
    with pytest.raises(NotFound, match="holds no trained system"):
        run_suite("claims", replace(options, systems=tmp_path / "none"), settings)
    (tmp_path / "crosses/a-cross/report.json").write_text("{")
    with pytest.raises(ModelError, match=r"report\.json is not the report of a run"):
        run_suite("claims", options, settings)
    assert not settings.home.exists()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("checkpoint/architecture.json", "{bad", "is not the plan of a model"),
        ("checkpoint/architecture.json", "[1]", "is not the plan of a model"),
        ("report.json", "{bad", "is not the report of a run"),
        ("report.json", '{"recipe": {"kind": "bi-encoder", "colour": 3}}', "is not the report of a run: the recipe setting 'colour'"),
    ],
)  # fmt: skip
def test_a_damaged_run_is_named_before_anything_is_ranked(
    runs: Path, tmp_path: Path, file: str, content: str, said: str
) -> None:
    shutil.copytree(runs / "a-bi", tmp_path / "systems/torn")
    (tmp_path / "systems/torn" / file).write_text(content)
    with pytest.raises(ModelError, match=said) as caught:
        require_systems([make_task()], SuiteOptions(systems=tmp_path / "systems"))
    assert "torn" in caught.value.message
