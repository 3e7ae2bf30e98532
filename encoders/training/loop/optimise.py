"""One loop for every objective: batches in order, a warm-up and a straight line down, checkpoints that survive a kill."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import torch

from encoders.labels.pairs import Pair
from encoders.training.data.batches import Example
from encoders.training.data.frozen_scores import Scores
from encoders.training.loop import state
from encoders.training.loop.held_out import held_out
from encoders.training.objectives.losses import loss_of
from encoders.training.recipe import Recipe
from mappings.errors import ModelError

Log = Callable[[dict[str, Any]], None]
CLIPPED = 1.0
"""The largest norm of a step's gradients."""


@dataclass(frozen=True, slots=True)
class Run:
    """What stays the same from step to step. `whose` is `state.identity`; `dev` are the pairs of the early stop."""

    model: Any
    tokenizer: Any
    recipe: Recipe
    folder: Path
    log: Log
    whose: Mapping[str, Any]
    dev: Mapping[str, Sequence[Pair]] = field(default_factory=dict)
    teacher: Scores | None = None
    prior: Scores | None = None


@dataclass(slots=True)
class Progress:
    """What changes: steps done, and the best evaluation so far with how many came after it."""

    step: int = 0
    best: float = -1.0
    best_step: int = 0
    waited: int = 0
    stopped: int = 0


def learning_rate(step: int, steps: int, recipe: Recipe) -> float:
    """Linear warm-up over the first part, then linear to 0 at `steps`."""
    warm = max(1, round(steps * recipe.warmup))
    part = (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)
    return recipe.learning_rate * max(0.0, part)


def optimise(run: Run, batches: Sequence[Sequence[Example]]) -> Progress:
    """Train the run's model in place over `batches`, from the last state in its folder where there is one.

    Raises `ModelError` for a loss that is no number, also of a step to come: the last good state stays.
    """
    recipe, model = run.recipe, run.model
    torch.manual_seed(recipe.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = min(recipe.steps or len(batches), len(batches))
    progress = Progress(**(state.restore(run.folder, model, optimiser, run.whose) or {}))
    model.train()
    clock, losses = time.monotonic(), list[float]()
    while progress.step < steps and not progress.stopped:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(progress.step, steps, recipe)
        losses.append(_step(run, batches[progress.step], optimiser, trained, progress.step))
        progress.step += 1
        last = progress.step == steps
        evaluated = bool(recipe.evaluate_every) and (progress.step % recipe.evaluate_every == 0 or last)
        kept = progress.step % recipe.save_every == 0 or last
        if progress.step % 10 == 0 or last:
            run.log(_pace(progress.step, steps, losses, time.monotonic() - clock))
            clock, losses = time.monotonic(), []
        before = time.monotonic()
        if evaluated or kept:
            _sound(run, batches[min(progress.step, steps - 1)], optimiser, trained, progress.step)
        if evaluated:
            _evaluate(run, progress)
        if kept or progress.stopped:
            state.keep(run.folder, model, optimiser, _counted(progress), run.whose)
        clock += time.monotonic() - before
    if progress.best_step:
        state.restore_best(run.folder, model)
    return progress


def _step(
    run: Run, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int
) -> float:
    """One step; its loss. Nothing changes when the loss or its gradients are no numbers."""
    value, norm = _gradients(run, batch, optimiser, trained)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss of step {step + 1} is {value}, its gradients' norm {norm}")
    optimiser.step()
    return value


def _sound(
    run: Run, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int
) -> None:
    """Raise `ModelError` where the weights after a step would break the next one, on `batch`: they are not worth keeping.

    The random numbers stay as they are, so that a run whose state is kept draws what one without would have drawn.
    """
    if not all(parameter.isfinite().all() for parameter in run.model.parameters()):
        raise _stop(run, f"the weights after step {step} are no numbers")
    devices = [torch.cuda.current_device()] if run.model.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        value, norm = _gradients(run, batch, optimiser, trained)
    optimiser.zero_grad(set_to_none=True)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss after step {step} is {value}, its gradients' norm {norm}")


def _gradients(
    run: Run, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter]
) -> tuple[float, float]:
    """(loss, norm) of a batch, with its gradients, clipped, in the weights."""
    loss = loss_of(run.model, run.tokenizer, batch, run.recipe, run.teacher, run.prior)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    return loss.item(), torch.nn.utils.clip_grad_norm_(trained, CLIPPED).item()


def _stop(run: Run, cause: str) -> ModelError:
    kept = run.folder / state.STATE
    where = f"the last good state is in {kept}" if kept.is_file() else "no state had been saved yet"
    return ModelError(
        f"{cause}: training stopped, {where}; a lower learning_rate may help, in another folder",
        field="loss",
    )


def _evaluate(run: Run, progress: Progress) -> None:
    """Rank the development pairs; keep the best weights, and stop after `patience` evaluations without better ones."""
    recipe = run.recipe
    table = held_out(run.model, run.tokenizer, run.dev, recipe, recipe.dev_queries)
    found = table["mean"]["RR"]
    run.log({"step": progress.step, "dev": table})
    if found > progress.best:
        progress.best, progress.best_step, progress.waited = found, progress.step, 0
        state.keep_best(run.folder, run.model)
    else:
        progress.waited += 1
        progress.stopped = int(bool(recipe.patience) and progress.waited >= recipe.patience)


def _counted(progress: Progress) -> dict[str, Any]:
    return {name: getattr(progress, name) for name in Progress.__dataclass_fields__}


def _pace(step: int, steps: int, losses: Sequence[float], seconds: float) -> dict[str, Any]:
    mean = round(sum(losses) / len(losses), 4)
    return {"step": step, "steps": steps, "loss": mean, "seconds_per_step": round(seconds / len(losses), 3)}


def entries(path: Path) -> list[dict[str, Any]]:
    """The entries of a log, without lines that can't be read: a kill may cut one, and NaN is no JSON."""
    found = []
    for line in path.read_bytes().splitlines():
        with suppress(orjson.JSONDecodeError):
            found.append(orjson.loads(line))
    return [entry for entry in found if isinstance(entry, dict)]


def log_to(path: Path, watch: Log | None = None) -> Log:
    """A log that appends one JSON object a line, and shows it to `watch`."""

    def write(record: dict[str, Any]) -> None:
        with path.open("a") as file:
            file.write(json.dumps({"time": round(time.time(), 1), **record}) + "\n")
        if watch:
            watch(record)

    return write
