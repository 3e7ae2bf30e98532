"""The training loop for every objective: batches in order, a linear learning-rate schedule, states that survive a kill."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from encoders.labels.pairs import Pair
from encoders.training.architectures.architecture import get_head
from encoders.training.data.batches import Example
from encoders.training.data.frozen_readings import FrozenReadings
from encoders.training.data.frozen_scores import FrozenScores
from encoders.training.loop import state
from encoders.training.loop.held_out import evaluate_held_out, main_measure
from encoders.training.objectives.anchor import Anchor
from encoders.training.objectives.losses import compute_loss
from encoders.training.recipe import Recipe
from encoders.training.run_folder import Log
from mappings.errors import ModelError

MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True, slots=True)
class LoopContext:
    """The constants of a run. `identity` is that of `state.make_identity`; `dev` are the pairs that decide the early stop."""

    model: Any
    tokenizer: Any
    recipe: Recipe
    folder: Path
    log: Log
    identity: Mapping[str, Any]
    dev: Mapping[str, Sequence[Pair]] = field(default_factory=dict)
    teacher: FrozenScores | FrozenReadings | None = None
    prior: FrozenScores | None = None
    anchor: Anchor | None = None


@dataclass(slots=True)
class Progress:
    """The counters of a run: steps done, the best evaluation so far, and how many evaluations came after it."""

    step: int = 0
    best: float = -1.0
    best_step: int = 0
    waited: int = 0
    stopped: int = 0


def learning_rate(step: int, steps: int, recipe: Recipe) -> float:
    """Linear warm-up, then linear decay to 0 at `steps`."""
    warm = max(1, round(steps * recipe.warmup))
    part = (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)
    return recipe.learning_rate * max(0.0, part)


def optimise(run: LoopContext, batches: Sequence[Sequence[Example]]) -> Progress:
    """Train the run's model in place on `batches`, starting from the state in its folder if there is one.

    Raises `ModelError` if the loss becomes NaN or infinite, or would in the next step; the last good state remains.
    """
    recipe, model = run.recipe, run.model
    torch.manual_seed(recipe.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(_groups(model, recipe), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = min(recipe.steps or len(batches), len(batches))
    progress = Progress(**(state.restore_state(run.folder, model, optimiser, run.identity) or {}))
    model.train()
    clock, losses = time.monotonic(), list[float]()
    while progress.step < steps and not progress.stopped:
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * learning_rate(progress.step, steps, recipe)
        losses.append(_step(run, batches[progress.step], optimiser, trained, progress.step))
        progress.step += 1
        last = progress.step == steps
        evaluates = bool(recipe.evaluate_every) and (progress.step % recipe.evaluate_every == 0 or last)
        saves = progress.step % recipe.save_every == 0 or last
        if progress.step % 10 == 0 or last:
            run.log(_progress_entry(progress.step, steps, losses, time.monotonic() - clock))
            clock, losses = time.monotonic(), []
        before = time.monotonic()
        if evaluates or saves:
            _check_next_step(run, batches[min(progress.step, steps - 1)], optimiser, trained, progress.step)
        if evaluates:
            _evaluate(run, progress)
        if saves or progress.stopped:
            state.save_state(run.folder, model, optimiser, asdict(progress), run.identity)
        clock += time.monotonic() - before
    if progress.best_step:
        state.restore_best(run.folder, model)
    return progress


def _groups(model: Any, recipe: Recipe) -> list[dict[str, Any]]:
    """The trained parameters, those of a head of ours apart if it learns at another rate."""
    own = set(map(id, head.parameters())) if (head := get_head(model)) is not None and recipe.head_rate != 1 else set()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rest, fast = [item for item in trained if id(item) not in own], [item for item in trained if id(item) in own]
    return [{"params": found, "rate": rate} for found, rate in ((rest, 1.0), (fast, recipe.head_rate)) if found]


def _step(
    run: LoopContext, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int
) -> float:
    """Make one step and return its loss. Changes nothing if the loss or its gradients are NaN or infinite."""
    value, norm = _compute_gradients(run, batch, optimiser, trained)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss of step {step + 1} is {value}, the norm of its gradients {norm}")
    optimiser.step()
    return value


def _check_next_step(
    run: LoopContext, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int
) -> None:
    """Raise `ModelError` if the weights after a step would break the next one, on `batch`, so that they are not saved.

    The random number generators are restored, so that saving a state does not change the course of a run.
    """
    if not all(parameter.isfinite().all() for parameter in run.model.parameters()):
        raise _stop(run, f"the weights after step {step} are NaN or infinite")
    devices = [torch.cuda.current_device()] if run.model.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        value, norm = _compute_gradients(run, batch, optimiser, trained)
    optimiser.zero_grad(set_to_none=True)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss after step {step} is {value}, the norm of its gradients {norm}")


def _compute_gradients(
    run: LoopContext, batch: Sequence[Example], optimiser: Any, trained: Sequence[torch.nn.Parameter]
) -> tuple[float, float]:
    """Set the weights' gradients for a batch, clipped; return the loss and the norm before clipping."""
    loss = compute_loss(run.model, run.tokenizer, batch, run.recipe, run.teacher, run.prior, run.anchor)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    return loss.item(), torch.nn.utils.clip_grad_norm_(trained, MAX_GRADIENT_NORM).item()


def _stop(run: LoopContext, cause: str) -> ModelError:
    saved = run.folder / state.STATE
    where = f"the last good state is in {saved}" if saved.is_file() else "no state had been saved yet"
    return ModelError(
        f"{cause}: training stopped, {where}; try a lower learning_rate, in another folder",
        field="loss",
    )


def _evaluate(run: LoopContext, progress: Progress) -> None:
    """Rank the development pairs, save the weights if they are the best, and stop after `patience` worse evaluations."""
    recipe = run.recipe
    table = evaluate_held_out(run.model, run.tokenizer, run.dev, recipe, recipe.dev_queries)
    found = table["mean"][main_measure(recipe)]
    run.log({"step": progress.step, "dev": table})
    if found > progress.best:
        progress.best, progress.best_step, progress.waited = found, progress.step, 0
        state.save_best(run.folder, run.model)
    else:
        progress.waited += 1
        progress.stopped = int(bool(recipe.patience) and progress.waited >= recipe.patience)


def _progress_entry(step: int, steps: int, losses: Sequence[float], seconds: float) -> dict[str, Any]:
    mean = round(sum(losses) / len(losses), 4)
    return {"step": step, "steps": steps, "loss": mean, "seconds_per_step": round(seconds / len(losses), 3)}
