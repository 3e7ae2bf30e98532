"""The loop survives: it resumes exactly, refuses other input, stops early, and stops at a loss that is not a number."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import BI, CROSS, WORDS, write_home, write_pairs  # noqa: E402

from encoders.labels.pairs import Pair, Text, read_pairs, write_lines  # noqa: E402
from encoders.training.loop import optimise  # noqa: E402
from encoders.training.loop.held_out import evaluate_held_out  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.plot import plot_loss  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import Conflict, InvalidInput, ModelError  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("home"))


def recipe_of(home: Path, recipe: Recipe = CROSS, **changes: object) -> Recipe:
    return replace(recipe, base=str(home / "bert"), threads=1, tasks={"claim": Share(repeat=8)}, **changes)


def entries(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


RESUMED = {
    "cross-encoder": CROSS,
    "interaction, watched": replace(CROSS, head="interaction", evaluate_every=3, patience=9),
    "poly-encoder": replace(BI, kind="poly-encoder"),
    "two towers": replace(BI, towers="separate", objective="triplet"),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_killed_run_goes_on_to_the_same_weights(name: str, home: Path, tmp_path: Path, monkeypatch) -> None:
    recipe = recipe_of(home, RESUMED[name])
    whole = train(recipe, home / "pairs", tmp_path / "whole")
    real, calls = optimise._step, []

    def killed(*arguments):
        calls.append(1)
        if len(calls) == 7:  # after the state of step 4
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(optimise, "_step", killed)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, home / "pairs", tmp_path / "cut")
    again = train(replace(recipe, save_every=100, name="other"), home / "pairs", tmp_path / "cut")
    assert len(calls) == 7 + 4
    assert again["held_out"] == whole["held_out"]
    states = [torch.load(tmp_path / name / "state.pt", weights_only=True) for name in ("whole", "cut")]
    assert states[0]["step"] == states[1]["step"] == 8
    assert states[0]["best"] == states[1]["best"]
    assert all(torch.equal(value, states[1]["model"][key]) for key, value in states[0]["model"].items())


def test_a_resumption_with_other_settings_or_data_is_refused_by_name(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(home, steps=2)
    write_pairs(tmp_path / "pairs")
    train(recipe, tmp_path / "pairs", tmp_path / "run")
    record = (tmp_path / "run/record.json").read_bytes()
    with pytest.raises(Conflict, match=r"'learning_rate' was 0\.002 and is now 0\.001") as caught:
        train(replace(recipe, learning_rate=1e-3), tmp_path / "pairs", tmp_path / "run")
    assert caught.value.field == "learning_rate"
    assert (tmp_path / "run/record.json").read_bytes() == record
    with pytest.raises(Conflict, match="'threads' was 1 and is now 2"):
        train(replace(recipe, threads=2), tmp_path / "pairs", tmp_path / "run")
    with (tmp_path / "pairs/claim.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(Conflict, match=r"the input 'claim\.jsonl' was '[0-9a-f]{64}'") as caught:
        train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert caught.value.field == "claim.jsonl"


def test_the_best_weights_are_kept_and_the_run_stops_early(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(home, learning_rate=1e-12, evaluate_every=2, patience=2)
    report = train(recipe, home / "pairs", tmp_path / "flat")
    assert (report["steps"], report["best_step"]) == (6, 2)
    best = torch.load(tmp_path / "flat/best.pt", weights_only=True)
    last = torch.load(tmp_path / "flat/state.pt", weights_only=True)
    assert (last["step"], last["stopped"]) == (6, 1)
    assert any(not torch.equal(best[name], value) for name, value in last["model"].items())
    again = train(recipe, home / "pairs", tmp_path / "flat")
    assert again == report
    scores = [entry["dev"]["mean"]["RR"] for entry in entries(tmp_path / "flat") if "dev" in entry]
    assert len(scores) == 3
    kept = load_initial(replace(recipe, base=str(tmp_path / "flat/checkpoint"))).model.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in best.items())


@pytest.mark.parametrize(("save_every", "steps"), [(1, 0), (100, 0), (100, 1)])
def test_weights_that_break_the_next_step_are_not_kept(home: Path, tmp_path: Path, save_every: int, steps: int) -> None:
    recipe = recipe_of(home, learning_rate=1e30, save_every=save_every, steps=steps)
    with pytest.raises(ModelError, match=r"the loss (of|after) step \d is .*training stopped, no state") as caught:
        train(recipe, home / "pairs", tmp_path)
    assert caught.value.field == "loss"
    assert {path.name for path in tmp_path.iterdir()} == {"log.jsonl", "loss.svg", "record.json"}
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["status"], record["cause"]) == ("failed", caught.value.message)


def test_a_run_that_breaks_keeps_the_last_good_state(home: Path, tmp_path: Path, monkeypatch) -> None:
    recipe = recipe_of(home, save_every=1, evaluate_every=1)
    monkeypatch.setattr(optimise, "learning_rate", lambda step, steps, recipe: 1e30 if step == 3 else 1e-3)
    with pytest.raises(ModelError, match=f"after step 4 .*the last good state is in {tmp_path / 'state.pt'}"):
        train(recipe, home / "pairs", tmp_path)
    kept = torch.load(tmp_path / "state.pt", weights_only=True)
    assert kept["step"] == 3
    for weights in (kept["model"], torch.load(tmp_path / "best.pt", weights_only=True)):
        assert max(value.abs().max() for value in weights.values()) < 1e3


def test_a_model_whose_scores_are_no_numbers_ranks_nothing(home: Path) -> None:
    recipe = recipe_of(home)
    ready = load_initial(recipe)
    with torch.no_grad():
        next(ready.model.parameters()).fill_(float("nan"))
    pairs = {"claim": list(read_pairs(home / "pairs/claim.jsonl"))}
    with pytest.raises(ModelError, match=r"scores the held-out query .* with NaN or infinity"):
        evaluate_held_out(ready.model, ready.tokenizer, pairs, recipe)


def test_a_record_says_what_a_run_was(home: Path, tmp_path: Path) -> None:
    report = train(recipe_of(home, steps=2), home / "pairs", tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    assert set(record) == {
        "status", "recipe", "data", "revision", "python", "packages", "device", "seconds", "pairs", "steps",
        "best_step", "held_out",
    }  # fmt: skip
    assert record["status"] == "finished"
    assert record["recipe"] == report["recipe"]
    assert list(record["data"]) == ["claim.jsonl"]
    assert record["packages"]["torch"] == torch.__version__.split("+")[0]
    assert record["held_out"] == report["held_out"]
    assert record["revision"] is None or len(record["revision"].rstrip("+")) == 40


def test_impossible_runs_are_refused_before_they_begin(home: Path, tmp_path: Path) -> None:
    unfilled = (
        r"claim.jsonl has 8 training pairs, 8 of them with 1 negatives or more: they do not fill one batch of 512"
    )
    with pytest.raises(InvalidInput, match=unfilled):
        train(recipe_of(home, BI, batch=512), home / "pairs", tmp_path)
    with pytest.raises(
        InvalidInput, match=r"0 of them with 99 negatives or more: .* mine more, set negatives below 99, or"
    ):
        train(recipe_of(home, BI, negatives=99), home / "pairs", tmp_path)
    bare = [replace(pair, task="rare", negatives=()) for pair in read_pairs(home / "pairs/claim.jsonl")]
    write_lines(tmp_path / "two/rare.jsonl", bare)
    shutil.copy(home / "pairs/claim.jsonl", tmp_path / "two")
    both = replace(recipe_of(home, negatives=1), tasks={"claim": Share(), "rare": Share()})
    with pytest.raises(InvalidInput, match=r"rare\.jsonl has 8 training pairs, 0 of them with 1 negatives or more"):
        train(both, tmp_path / "two", tmp_path / "two-run")
    only = Pair(
        "claim", "1", "1", "train", "c", "pain stop", ("1",), Text("1", "", "", "pain"), (Text("2", "", "", "sleep"),)
    )
    write_lines(tmp_path / "pairs/claim.jsonl", [only])
    with pytest.raises(InvalidInput, match="evaluate_every needs held-out pairs"):
        train(recipe_of(home, negatives=1, evaluate_every=2), tmp_path / "pairs", tmp_path / "run")
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInput, match="torch finds no GPU"):
            train(recipe_of(home, device="cuda"), home / "pairs", tmp_path)


def test_a_triplet_needs_no_negatives_of_its_own(home: Path, tmp_path: Path) -> None:
    found = [
        Pair("claim", word, word, "train" if place < 6 else "held-out", "c", f"{word} stop", (word,),
             Text(word, "", "", f"{word} help the old"), (Text(f"no {word}", "", "", f"stop {word}"),) * (place % 2))
        for place, word in enumerate(WORDS[:8])
    ]  # fmt: skip
    write_lines(tmp_path / "pairs/claim.jsonl", found)
    recipe = recipe_of(home, BI, objective="triplet", batch=6, learning_rate=1e-3)
    train(recipe, tmp_path / "pairs", tmp_path / "run")
    losses = [entry["loss"] for entry in entries(tmp_path / "run") if "loss" in entry]
    assert len(losses) == 1
    assert losses[0] > 0


def test_the_watch_sees_what_the_log_holds(home: Path, tmp_path: Path) -> None:
    seen: list[dict[str, object]] = []
    train(recipe_of(home, steps=2), home / "pairs", tmp_path, watch=seen.append)
    assert [{name: entry[name] for name in entry if name != "time"} for entry in entries(tmp_path)] == seen


def test_the_learning_rate_rises_and_falls() -> None:
    recipe = replace(CROSS, learning_rate=1.0, warmup=0.2)
    rates = [optimise.learning_rate(step, 10, recipe) for step in range(10)]
    assert rates[:2] == [0.5, 1.0]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[-1] > 0


def test_the_plot_shows_each_step_once_and_both_curves() -> None:
    log = [{"recipe": {}}, *({"step": n, "steps": 30, "loss": 1 / n} for n in (10, 20, 20, 30))]
    log += [{"step": n, "dev": {"mean": {"RR": n / 40}}} for n in (10, 30)]
    drawn = ElementTree.fromstring(plot_loss("claims & <more>", log))
    lines = [line.attrib["points"].split() for line in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(points) for points in lines] == [3, 2]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)
    assert "claims & <more>" in [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "polyline" not in plot_loss("nothing yet", [])


def test_pairs_that_hold_what_evaluation_judges_are_refused(home: Path, data: Path, tmp_path: Path) -> None:
    judged = "Statin one lowers appetite in mice."  # a development claim of the invented SciFact
    found = [
        Pair("scifact", f"scifact:{n}", str(n), "train", "scifact", query, ("9",), Text("9", "", "", "pain"),
             (Text("8", "", "", "sleep"),) * 3)
        for n, query in enumerate(("statins stop the virus", judged))
    ]  # fmt: skip
    write_lines(tmp_path / "pairs/scifact.jsonl", found)
    recipe = replace(recipe_of(home), tasks={"scifact": Share()}, batch=2)
    with pytest.raises(InvalidInput, match=r"scifact\.jsonl, line 2"):
        train(recipe, tmp_path / "pairs", tmp_path / "run", evaluated=data)
    assert not (tmp_path / "run").exists()
