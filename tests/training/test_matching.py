"""A run of a matching network: it learns, resumes exactly, is refused evaluation data, and its checkpoint ranks."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_matchers import ASPECTS, ENTITIES, make_vectors, write_matching_pairs  # noqa: E402

from encoders.ancestry.record import read_ancestry  # noqa: E402
from encoders.training.data.batches import Example  # noqa: E402
from encoders.training.kinds import start_run  # noqa: E402
from encoders.training.loop import optimise  # noqa: E402
from encoders.training.matching import inputs  # noqa: E402
from encoders.training.matching.checkpoint import find_matchers, load_matcher  # noqa: E402
from encoders.training.matching.models import c_dssm, dssm  # noqa: E402
from encoders.training.matching.recipe import NAMES, MatcherRecipe  # noqa: E402
from encoders.training.matching.scoring import compute_match_loss, gather_candidates  # noqa: E402
from encoders.training.recipe import Share  # noqa: E402
from encoders.training.runs.matcher import train_matcher  # noqa: E402
from mappings.errors import Conflict, InvalidInput, ModelError, NotFound  # noqa: E402
from web.cli.commands.training import train as train_command  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
RATES = {"drmm": 3e-2, "anmm": 3e-2, "k-nrm": 3e-2}
ADAPTED = ("k-nrm",)


@pytest.fixture(autouse=True)
def few_trigrams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer weights, so that a step takes milliseconds."""
    for module in (inputs, dssm, c_dssm):
        monkeypatch.setattr(module, "TRIGRAMS", 200)
    for module in (dssm, c_dssm):
        monkeypatch.setattr(module, "HIDDEN", 20)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    make_vectors(12).save(folder / "words.npz")
    write_matching_pairs(folder / "pairs")
    return folder


def recipe_of(home: Path, model: str = "drmm", **changes: object) -> MatcherRecipe:
    settings: dict[str, object] = {
        "batch": 5,
        "negatives": 6,
        "units": 8,
        "max_query": 6,
        "max_passage": 20,
        "epochs": 2,
    }
    return MatcherRecipe(model, model, {"slots": Share()}, words=str(home / "words.npz"), **settings | changes)


@pytest.mark.parametrize("model", NAMES)
def test_each_model_learns_what_answers(model: str, home: Path, tmp_path: Path) -> None:
    rate = RATES.get(model, 3e-3)
    recipe = recipe_of(home, model, epochs=80, learning_rate=rate, adapt=model in ADAPTED, evaluate_every=80, units=24)
    report = train_matcher(recipe, home / "pairs", tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in entries if "loss" in entry]
    assert losses[0] > 1
    assert losses[-1] < 0.2
    before, after = (report["held_out"][name]["mean"]["RR"] for name in ("base", "trained"))
    # ARC-I never sees both texts together: so few pairs teach it no other phrasing. Processors round differently: where MV-LSTM
    # reached .7 on one, it ends at .64 on another.
    assert after >= (before if model == "arc-i" else 0.6), f"{before} -> {after}"
    ranker = load_matcher(tmp_path / "run/checkpoint")
    slots = [(entity, aspect) for entity in ENTITIES for aspect in ASPECTS]
    passages = [f"The {aspect} of {entity} in the young." for entity, aspect in slots]
    found = [ranker.score(f"the {entity} {aspect}", passages) for entity, aspect in slots]
    assert found[0].shape == (len(passages),)
    first = [scores.argmax() == place for place, scores in enumerate(found)]
    assert sum(first) >= 0.8 * len(slots)  # each was trained on, against six of the others


@pytest.mark.parametrize("model", ["har", "drmm"])
def test_a_killed_run_goes_on_to_the_same_weights(model: str, home: Path, tmp_path: Path, monkeypatch) -> None:
    recipe = recipe_of(home, model, save_every=2, evaluate_every=3, dropout=0.2, others=2, adapt=model == "har")
    whole = train_matcher(recipe, home / "pairs", tmp_path / "whole")
    real, calls = optimise._step, []

    def killed(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(optimise, "_step", killed)
    with pytest.raises(KeyboardInterrupt):
        train_matcher(recipe, home / "pairs", tmp_path / "cut")
    assert json.loads((tmp_path / "cut/record.json").read_text())["status"] == "failed"
    again = train_matcher(recipe, home / "pairs", tmp_path / "cut")
    assert len(calls) == 4 + 4  # six steps in all, of which two were saved
    assert again["held_out"] == whole["held_out"]
    states = [torch.load(tmp_path / name / "state.pt", weights_only=True)["model"] for name in ("whole", "cut")]
    assert all(torch.equal(value, states[1][key]) for key, value in states[0].items())


def test_a_run_leaves_what_every_run_leaves(home: Path, tmp_path: Path) -> None:
    report = train_matcher(recipe_of(home, steps=2), home / "pairs", tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"checkpoint", "log.jsonl", "loss.svg", "record.json", "report.json", "state.pt"}
    assert orjson.loads((tmp_path / "run/report.json").read_bytes()) == json.loads(json.dumps(report))
    record = json.loads((tmp_path / "run/record.json").read_text())
    assert (record["status"], record["recipe"]["model"], record["steps"]) == ("finished", "drmm", 2)
    assert record["data"].keys() == {"slots.jsonl"}
    found = read_ancestry(tmp_path / "run/checkpoint")
    assert found.is_known
    assert found.roots == (f"words.npz {make_vectors(12).fingerprint}",)
    assert found.runs[0]["parents"][0]["role"] == "words"


def test_other_vectors_pairs_or_settings_are_no_resumption(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(home, steps=1)
    words = tmp_path / "words.npz"
    make_vectors(12).save(words)
    train_matcher(replace(recipe, words=str(words)), home / "pairs", tmp_path / "run")
    make_vectors(12, seed=4).save(words)
    with pytest.raises(Conflict, match="the input 'words' was"):
        train_matcher(replace(recipe, words=str(words)), home / "pairs", tmp_path / "run")
    make_vectors(12).save(words)
    with pytest.raises(Conflict, match="'units' was 8 and is now 9"):
        train_matcher(replace(recipe, words=str(words), units=9), home / "pairs", tmp_path / "run")


def test_missing_vectors_or_negatives_are_named_before_the_folder_is_made(home: Path, tmp_path: Path) -> None:
    wrong = {
        "words is empty": ({"words": ""}, InvalidInput),
        "there are no word vectors": ({"words": str(tmp_path / "none.npz")}, NotFound),
        "0 of them with 7 negatives or more": ({"negatives": 7}, InvalidInput),
    }
    for said, (changes, error) in wrong.items():
        with pytest.raises(error, match=said):
            train_matcher(replace(recipe_of(home), **changes), home / "pairs", tmp_path / "run")
    (tmp_path / "torn.npz").write_bytes(b"torn")
    with pytest.raises(ModelError, match=r"torn.npz can't be read"):
        train_matcher(replace(recipe_of(home), words=str(tmp_path / "torn.npz")), home / "pairs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_evaluation_data_is_refused(home: Path, data: Path, tmp_path: Path) -> None:
    lines = (home / "pairs/slots.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"corpus": "health"}
    first["positive"]["title"] = "Judged syndrome"
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs/slots.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    with pytest.raises(InvalidInput, match=r"slots.jsonl, line 1.*medquad"):
        start_run(recipe_of(home), tmp_path / "pairs", tmp_path / "run", evaluated=data)
    assert not (tmp_path / "run").exists()


def test_a_run_through_the_command(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEDLEY_DATA", raising=False)
    changes = ["steps=2", "epochs=2", "batch=4", f"words={home / 'words.npz'}", "evaluate_every=1"]
    arguments = ["matcher-k-nrm", str(home / "pairs"), str(tmp_path / "run"), "--json"]
    done = CliRunner().invoke(train_command, [*arguments, *(part for change in changes for part in ("--set", change))])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["steps"] == 2
    assert find_matchers(tmp_path) == {"run": tmp_path / "run/checkpoint"}


def make_examples(ids: str) -> list[Example]:
    """Each with its answer and one negative; `a` and `b` answer one another's query, too."""
    together = {"a": "ab", "b": "ab"}
    return [
        Example(
            "slots", f"gout {key}", (f"answer {key}", f"no {key}"), (key, f"-{key}"), frozenset(together.get(key, key))
        )
        for key in ids
    ]


def test_answers_to_other_queries_are_negatives_unless_they_answer_this_one() -> None:
    found = gather_candidates(make_examples("abc"), 2)
    assert found[0] == (["answer a", "no a", "answer b", "answer c"], [True, True, False, True])
    assert found[2] == (["answer c", "no c", "answer a", "answer b"], [True] * 4)
    assert gather_candidates(make_examples("a"), 5) == [(["answer a", "no a"], [True, True])]
    assert gather_candidates(make_examples("ab"), 0)[1] == (["answer b", "no b"], [True, True])


def test_the_loss_is_the_cross_entropy_of_what_counts(checkpoint: Path) -> None:
    ranker = load_matcher(checkpoint)
    examples = make_examples("abc")
    expected = []
    for item, (texts, counted) in zip(examples, gather_candidates(examples, 2), strict=True):
        scores = [
            float(ranker.score(item.query, [text])[0]) for text, counts in zip(texts, counted, strict=True) if counts
        ]
        expected.append(math.log(sum(map(math.exp, scores))) - scores[0])
    loss = compute_match_loss(ranker.model, ranker.table, examples, 2)
    assert float(loss.detach()) == pytest.approx(sum(expected) / 3, rel=1e-4)


@pytest.fixture(scope="module")
def checkpoint(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "one"
    train_matcher(recipe_of(home, steps=1), home / "pairs", out)
    return out / "checkpoint"


def test_vectors_of_another_dimension_or_training_are_refused(checkpoint: Path) -> None:
    with pytest.raises(ModelError, match=r"of 12 values; these are [0-9a-f]{16} of 8") as caught:
        load_matcher(checkpoint, make_vectors(8))
    assert caught.value.field == "words"
    with pytest.raises(ModelError, match="was trained with the word vectors"):
        load_matcher(checkpoint, make_vectors(12, seed=9))
    assert load_matcher(checkpoint, make_vectors(12)).recipe.model == "drmm"


def test_scores_do_not_depend_on_the_other_passages(checkpoint: Path) -> None:
    ranker = load_matcher(checkpoint)
    passages = ["The cure of gout.", "Pain " * 15, "No cause in the old is known."]
    together = ranker.score("gout cure", passages)
    assert together.tolist() == pytest.approx(
        [float(ranker.score("gout cure", [item])[0]) for item in passages], rel=1e-5
    )
    assert ranker.score("gout cure", []).shape == (0,)
    assert ranker.score("gout cure", passages * 50).tolist() == pytest.approx(together.tolist() * 50, rel=1e-5)
    with pytest.raises(InvalidInput, match="has no word"):
        ranker.score("gout cure", ["The cure.", ""])


@pytest.mark.parametrize("damage", ["matcher.json", "matcher.safetensors"])
def test_a_damaged_checkpoint_is_refused(damage: str, checkpoint: Path, tmp_path: Path) -> None:
    for name in ("matcher.json", "matcher.safetensors"):
        (tmp_path / name).write_bytes((checkpoint / name).read_bytes())
    (tmp_path / damage).write_bytes(b"torn")
    with pytest.raises(ModelError, match="is not a checkpoint of a matching network"):
        load_matcher(tmp_path)


def test_checkpoints_are_found_by_name(checkpoint: Path, tmp_path: Path) -> None:
    assert find_matchers(checkpoint.parents[1]) == {"one": checkpoint}
    assert find_matchers(checkpoint.parent) == {"checkpoint": checkpoint}
    assert find_matchers(tmp_path) == find_matchers(tmp_path / "none") == {}


def test_a_text_without_a_word_is_named_before_the_run_begins(home: Path, tmp_path: Path) -> None:
    lines = (home / "pairs/slots.jsonl").read_text().splitlines()
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs/slots.jsonl").write_text(
        "\n".join([json.dumps(json.loads(lines[0]) | {"query": "???"}), *lines[1:]])
    )
    with pytest.raises(InvalidInput, match=r"slots\.jsonl, pair .*: the query '\?\?\?' has no word"):
        train_matcher(recipe_of(home), tmp_path / "pairs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_unfinished_run_is_no_network_to_rank_by(checkpoint: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(checkpoint.parent, tmp_path / "systems/one")
    (copied / "report.json").unlink(missing_ok=True)
    assert find_matchers(tmp_path / "systems") == {}
