"""What every run does around its training: it checks its pairs, makes its folder, and records how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from encoders.labels.guard import check_pairs_file
from encoders.labels.pairs import Pair
from encoders.training.data.batches import required_negatives
from encoders.training.recipe import Recipe
from encoders.training.run_folder import LOG, PLOT, Log, hold_run, open_log, read_log
from encoders.training.runs.plot import plot_loss
from encoders.training.runs.record import RunRecord
from mappings.errors import InvalidInput, MedleyError


def run_recorded(
    record: RunRecord, out: Path, watch: Log | None, run: Callable[[Log], dict[str, Any]]
) -> dict[str, Any]:
    """The report of `run`, with `record` in its folder as running, then as finished or failed."""
    with hold_run(out):
        return _run_recorded(record, out, watch, run)


def _run_recorded(
    record: RunRecord, out: Path, watch: Log | None, run: Callable[[Log], dict[str, Any]]
) -> dict[str, Any]:
    started, name = monotonic(), record.recipe["name"]
    record.write(out)
    try:
        report = run(open_log(out / LOG, watch))
        _write_plot(name, out)
        figures = {name: report[name] for name in ("pairs", "steps", "best_step", "held_out")}
        record.ended("finished", monotonic() - started, figures).write(out)
    except BaseException as error:  # an interrupted run is not running either
        cause = error.message if isinstance(error, MedleyError) else repr(error)
        with suppress(OSError):  # a full disk must not hide why the run failed
            record.ended("failed", monotonic() - started, {"cause": cause}).write(out)
            _write_plot(name, out)
        raise
    return report


def make_folder(out: Path) -> None:
    """Make the folder of a run. Raises `InvalidInput` where that fails."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {out} can't be created: {error.strerror}", field="OUT") from None


def refuse_evaluated(recipe: Recipe, data: Path, evaluated: Path) -> None:
    """Raise `InvalidInput` if a pair file contains evaluation data."""
    for task in recipe.tasks:
        if (file := data / f"{task}.jsonl").is_file():
            check_pairs_file(file, evaluated)


def explain_unused(task: str, pairs: Sequence[Pair], recipe: Recipe) -> str:
    """Why no step of the run shows a pair of this task."""
    if not pairs:
        return f"{task}.jsonl has no training pairs: leave the task out of the recipe, or give some the split train"
    needed = required_negatives(recipe)
    fewer = f"mine more, set negatives below {needed}" if needed > 1 else "mine more"
    enough = sum(len(pair.negatives) >= needed for pair in pairs)
    return (
        f"{task}.jsonl has {len(pairs)} training pairs, {enough} of them with {needed} negatives or more: "
        f"they do not fill one batch of {recipe.batch}; {fewer}, or leave the task out of the recipe"
    )


def read_label_counts(data: Path) -> dict[str, Any]:
    """What labelling counted and dropped, if it is stored beside the pairs. Raises `InvalidInput` for a damaged file."""
    path = data / "counts.json"
    try:
        return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}
    except (ValueError, TypeError):
        raise InvalidInput(f"{path} is not a JSON object: remove it, or label again", field="counts.json") from None


def _write_plot(name: str, out: Path) -> None:
    if (out / LOG).is_file():
        (out / PLOT).write_text(plot_loss(name, read_log(out / LOG)), encoding="utf-8")
