"""A run's folder keeps what it holds: refused runs change nothing, damaged files are named, no run stays running."""

from __future__ import annotations

import json
import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import CROSS, write_base, write_pairs  # noqa: E402

from encoders.training.kinds import start_run  # noqa: E402
from encoders.training.objectives.losses import Objective  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.run_folder import hold_run, open_log, read_log  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import Conflict, InvalidInput, Unavailable  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    write_pairs(tmp_path / "pairs")
    return replace(CROSS, base=str(write_base(tmp_path / "base")), threads=1, steps=2)


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def status(folder: Path) -> str:
    return str(json.loads((folder / "record.json").read_bytes())["status"])


def test_a_finished_run_without_its_state_is_not_trained_over(recipe: Recipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(recipe, tmp_path / "pairs", out)
    (out / "state.pt").unlink()
    before = held(out)
    with pytest.raises(Conflict, match=r"contains a finished run.*train into another folder"):
        train(replace(recipe, learning_rate=1e-3), tmp_path / "pairs", out)
    (out / "report.json").unlink()
    with pytest.raises(Conflict, match="contains a finished run"):
        train(recipe, tmp_path / "pairs", out)
    assert held(out) == {name: content for name, content in before.items() if name != "report.json"}


def test_a_refused_run_changes_nothing(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "pairs/claim.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInput, match=r"claim\.jsonl, line 1"):
        train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    record = tmp_path / "old/record.json"
    record.parent.mkdir()
    record.write_text('{"status": "finished"}')
    with pytest.raises(InvalidInput):
        train(recipe, tmp_path / "pairs", tmp_path / "old")
    assert held(record.parent) == {"record.json": b'{"status": "finished"}'}


def test_a_folder_below_a_file_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file/run"):
        with pytest.raises(InvalidInput, match="can't be created") as caught:
            train(recipe, tmp_path / "pairs", out)
        assert caught.value.field == "OUT"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_no_run_that_ended_is_running(recipe: Recipe, tmp_path: Path, monkeypatch, error: BaseException) -> None:
    def broken(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(Objective, "loss", broken)
    with pytest.raises(type(error)):
        train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert status(tmp_path / "run") == "failed"
    assert type(error).__name__ in json.loads((tmp_path / "run/record.json").read_bytes())["cause"]


def test_lines_of_a_log_that_cannot_be_read_are_passed_over(recipe: Recipe, tmp_path: Path) -> None:
    log = tmp_path / "run/log.jsonl"
    log.parent.mkdir()
    log.write_text('{"step": 1, "loss": NaN}\n{"step": 1, "loss": Infinity}\n[]\n{"step": 1, "lo\n')
    train(recipe, tmp_path / "pairs", log.parent)
    assert status(log.parent) == "finished"
    assert "polyline" in (log.parent / "loss.svg").read_text()


@pytest.mark.parametrize("spoil", ["cut", "empty", "garbage", "list", "parts"])
def test_a_damaged_state_is_named(recipe: Recipe, tmp_path: Path, spoil: str) -> None:
    out = tmp_path / "run"
    train(recipe, tmp_path / "pairs", out)
    path = out / "state.pt"
    state = torch.load(path, weights_only=True)
    if spoil in ("list", "parts"):
        torch.save([1] if spoil == "list" else {**state, "model": {}}, path)
    else:
        path.write_bytes({"cut": path.read_bytes()[:5000], "empty": b"", "garbage": b"no state"}[spoil])
    record = (out / "record.json").read_bytes()
    with pytest.raises(Conflict, match=r"state\.pt is damaged.*remove it to start again, or restore it from a copy"):
        train(recipe, tmp_path / "pairs", out)
    assert ((out / "record.json").read_bytes() == record) is (spoil != "parts")
    assert status(out) == ("failed" if spoil == "parts" else "finished")


def test_damaged_best_weights_are_named(recipe: Recipe, tmp_path: Path) -> None:
    watched, best = replace(recipe, evaluate_every=1), tmp_path / "run/best.pt"
    train(watched, tmp_path / "pairs", best.parent)
    best.write_bytes(best.read_bytes()[:5000])
    with pytest.raises(Conflict, match=r"best\.pt is damaged"):
        train(watched, tmp_path / "pairs", best.parent)
    best.unlink()
    with pytest.raises(Conflict, match=r"best\.pt is missing"):
        train(watched, tmp_path / "pairs", best.parent)


def test_the_folder_of_a_run_of_another_kind_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    record = tmp_path / "run/record.json"
    record.parent.mkdir()
    record.write_text('{"recipe": {"kind": "matcher"}}')
    with pytest.raises(Conflict, match="holds a run of the kind matcher: train a cross-encoder into another folder"):
        start_run(recipe, tmp_path / "pairs", record.parent)
    assert held(record.parent) == {"record.json": record.read_bytes()}
    record.write_text("torn")
    start_run(recipe, tmp_path / "pairs", record.parent)
    assert status(record.parent) == "finished"


def test_two_processes_do_not_train_into_one_folder(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with hold_run(tmp_path / "run"), pytest.raises(Conflict, match="another process is training into"):
        train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert held(tmp_path / "run") == {}
    train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert status(tmp_path / "run") == "finished"


def test_an_entry_after_a_torn_one_has_a_line_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"step": 1}\n{"step": 2, "lo')
    open_log(log)({"step": 3})
    assert [entry["step"] for entry in read_log(log)] == [1, 3]


def test_a_full_disk_is_told_with_the_file_and_what_to_do(recipe: Recipe, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
        with pytest.raises(Unavailable, match=r"state\.pt can't be written .*make room; the same command then goes on"):
            train(recipe, tmp_path / "pairs", tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, kept)
    assert not list((tmp_path / "run").glob("*.partial"))
    assert "state.pt can't be written" in json.loads((tmp_path / "run/record.json").read_bytes())["cause"]
    train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert status(tmp_path / "run") == "finished"


@pytest.mark.parametrize("content", ['{"a": ', "[1, 2]"])
def test_damaged_counts_of_labelling_are_named(recipe: Recipe, tmp_path: Path, content: str) -> None:
    (tmp_path / "pairs/counts.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"counts\.json is not a JSON object"):
        train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_group_on_both_sides_of_the_split_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    file = tmp_path / "pairs/claim.jsonl"
    pairs = [json.loads(line) for line in file.read_text().splitlines()]
    held_out = next(pair for pair in pairs if pair["split"] == "held-out")
    changed = [pair | {"group": held_out["group"]} if pair["split"] == "train" else pair for pair in pairs]
    file.write_text("".join(json.dumps(pair) + "\n" for pair in changed))
    with pytest.raises(InvalidInput, match=r"claim\.jsonl: the group .* is in both splits"):
        train(recipe, tmp_path / "pairs", tmp_path / "run")


def test_without_held_out_pairs_there_are_no_held_out_figures(recipe: Recipe, tmp_path: Path) -> None:
    file = tmp_path / "pairs/claim.jsonl"
    pairs = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs if pair["split"] == "train"))
    report = train(recipe, tmp_path / "pairs", tmp_path / "run")
    assert report["held_out"] == {"base": {}, "trained": {}}
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs if pair["split"] != "train"))
    with pytest.raises(InvalidInput, match=r"claim\.jsonl has no training pairs"):
        train(recipe, tmp_path / "pairs", tmp_path / "other")
