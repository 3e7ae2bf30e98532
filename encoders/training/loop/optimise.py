"""The training loop for every objective: batches in order, a schedule of the learning rate, states that survive a kill."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch

from encoders.training.loop import state
from encoders.training.loop.gradients import split_gradients
from encoders.training.loop.processes import ALONE, Processes
from encoders.training.run_folder import Log
from mappings.errors import ModelError

MAX_GRADIENT_NORM = 1.0


class Schedule(Protocol):
    """What the loop has to know of a recipe, of whichever kind of model."""

    @property
    def seed(self) -> int:
        """Of all that is drawn at random."""

    @property
    def learning_rate(self) -> float:
        """The highest one."""

    @property
    def warmup(self) -> float:
        """The share of the steps in which the learning rate rises."""

    @property
    def decay(self) -> float:
        """What the learning rate is multiplied by after each epoch; 0: it falls in a line to 0."""

    @property
    def weight_decay(self) -> float:
        """Of AdamW."""

    @property
    def steps(self) -> int:
        """At most so many steps; 0: as many as there are batches."""

    @property
    def epochs(self) -> int:
        """How often the plan of batches shows everything."""

    @property
    def save_every(self) -> int:
        """Steps between two saved states."""

    @property
    def evaluate_every(self) -> int:
        """Steps between two evaluations; 0: none."""

    @property
    def patience(self) -> int:
        """Evaluations without a better one after which the run stops; 0: it never does."""


@dataclass(frozen=True, slots=True)
class LoopContext:
    """The constants of a run. `identity` is that of `state.make_identity`.

    `loss` is the objective on one batch, a scalar. `evaluate` says how good the model is: a table for the log, and the
    figure by which states of the run are compared. `head` are parameters that learn `head_rate` times as fast.

    With several `processes` each computes its share of a batch, which must be a sequence, and `loss` is taken as a mean over
    its examples. `gradients` computes them in another way: it adds those of a batch to the weights, or in each process a part
    of them, and returns as much of the loss.
    """

    model: Any
    recipe: Schedule
    folder: Path
    log: Log
    identity: Mapping[str, Any]
    loss: Callable[[Any], torch.Tensor]
    evaluate: Callable[[], tuple[Mapping[str, Any], float]] | None = None
    head: Any | None = None
    head_rate: float = 1.0
    processes: Processes = ALONE
    gradients: Callable[[Any], float] | None = None


@dataclass(slots=True)
class Progress:
    """The counters of a run: steps done, the best evaluation so far, and how many evaluations came after it."""

    step: int = 0
    best: float = -1.0
    best_step: int = 0
    waited: int = 0
    stopped: int = 0


def learning_rate(step: int, steps: int, recipe: Schedule) -> float:
    """Linear warm-up, then linear decay to 0 at `steps` or, with `decay`, by that factor after each epoch.

    A run of fewer steps goes through the whole schedule, all epochs, in these.
    """
    warm = max(1, round(steps * recipe.warmup))
    if step < warm and recipe.warmup:
        return recipe.learning_rate * (step + 1) / warm
    if recipe.decay:
        return recipe.learning_rate * recipe.decay ** (step * recipe.epochs // steps)
    part = (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)
    return recipe.learning_rate * max(0.0, part)


def optimise(run: LoopContext, batches: Sequence[Any]) -> Progress:
    """Train the run's model in place on `batches`, starting from the state in its folder if there is one.

    Raises `ModelError` if the loss becomes NaN or infinite, or would in the next step, or if another process of the run
    ended; the last good state remains.
    """
    recipe, model, processes = run.recipe, run.model, run.processes
    torch.manual_seed(recipe.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(_groups(run), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = min(recipe.steps or len(batches), len(batches))
    progress = Progress(**(state.restore_state(run.folder, model, optimiser, run.identity) or {}))
    processes.check_same("state", progress.step)
    processes.share_weights(model)
    model.train()
    clock, losses = time.monotonic(), list[float]()
    while progress.step < steps and not progress.stopped:
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * learning_rate(progress.step, steps, recipe)
        processes.seed(recipe.seed, progress.step)
        losses.append(_step(run, batches[progress.step], optimiser, trained, progress.step))
        progress.step += 1
        last = progress.step == steps
        evaluates = _is_evaluated(run, progress.step, last)
        saves = progress.step % recipe.save_every == 0 or last
        if (progress.step % 10 == 0 or last) and processes.is_first:
            run.log(_progress_entry(progress.step, steps, losses, time.monotonic() - clock))
            clock, losses = time.monotonic(), []
        before = time.monotonic()
        if evaluates or saves:
            _check_next_step(run, batches[min(progress.step, steps - 1)], optimiser, trained, progress.step)
        if evaluates:
            progress = processes.first(partial(_evaluate, run, progress))
        if (saves or progress.stopped) and processes.is_first:
            state.save_state(run.folder, model, optimiser, asdict(progress), run.identity)
        clock += time.monotonic() - before
    if progress.best_step:
        state.restore_best(run.folder, model)
    return progress


def _groups(run: LoopContext) -> list[dict[str, Any]]:
    """The trained parameters, those of the head apart if it learns at another rate."""
    own = set(map(id, run.head.parameters())) if run.head is not None and run.head_rate != 1 else set()
    trained = [parameter for parameter in run.model.parameters() if parameter.requires_grad]
    rest, fast = [item for item in trained if id(item) not in own], [item for item in trained if id(item) in own]
    return [{"params": found, "rate": rate} for found, rate in ((rest, 1.0), (fast, run.head_rate)) if found]


def _step(run: LoopContext, batch: Any, optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int) -> float:
    """Make one step and return its loss. Changes nothing if the loss or its gradients are NaN or infinite."""
    value, norm = _compute_gradients(run, batch, optimiser, trained)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss of step {step + 1} is {value}, the norm of its gradients {norm}")
    optimiser.step()
    return value


def _check_next_step(
    run: LoopContext, batch: Any, optimiser: Any, trained: Sequence[torch.nn.Parameter], step: int
) -> None:
    """Raise `ModelError` if the weights after a step would break the next one, on `batch`, so that they are not saved.

    The random number generators are restored, so that saving a state does not change the course of a run.
    """
    if not all(parameter.isfinite().all() for parameter in run.model.parameters()):
        raise _stop(run, f"the weights after step {step} are NaN or infinite")
    devices = [torch.cuda.current_device()] if trained[0].device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        value, norm = _compute_gradients(run, batch, optimiser, trained)
    optimiser.zero_grad(set_to_none=True)
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise _stop(run, f"the loss after step {step} is {value}, the norm of its gradients {norm}")


def _compute_gradients(
    run: LoopContext, batch: Any, optimiser: Any, trained: Sequence[torch.nn.Parameter]
) -> tuple[float, float]:
    """Set the weights' gradients for a batch, clipped; return the loss and the norm before clipping."""
    optimiser.zero_grad(set_to_none=True)
    value = run.processes.sum_gradients(trained, _add_gradients(run, batch))
    return value, torch.nn.utils.clip_grad_norm_(trained, MAX_GRADIENT_NORM).item()


def _add_gradients(run: LoopContext, batch: Any) -> float:
    """Add the gradients of this process's part of a batch; return its part of the loss."""
    if run.gradients is not None:
        return run.gradients(batch)
    if run.processes.count > 1:
        return split_gradients(run.loss, batch, 0, run.processes)
    loss = run.loss(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item()


def _stop(run: LoopContext, cause: str) -> ModelError:
    saved = run.folder / state.STATE
    where = f"the last good state is in {saved}" if saved.is_file() else "no state had been saved yet"
    return ModelError(
        f"{cause}: training stopped, {where}; try a lower learning_rate, in another folder",
        field="loss",
    )


def _is_evaluated(run: LoopContext, step: int, last: bool) -> bool:
    every = run.recipe.evaluate_every
    return run.evaluate is not None and bool(every) and (step % every == 0 or last)


def _evaluate(run: LoopContext, progress: Progress) -> Progress:
    """Evaluate, log it, save the weights if they are the best, and stop after `patience` worse evaluations."""
    if run.evaluate is None:
        return progress
    table, found = run.evaluate()
    run.log({"step": progress.step, "dev": table})
    if found > progress.best:
        state.save_best(run.folder, run.model)
        return replace(progress, best=found, best_step=progress.step, waited=0)
    waited = progress.waited + 1
    return replace(progress, waited=waited, stopped=int(bool(run.recipe.patience) and waited >= run.recipe.patience))


def _progress_entry(step: int, steps: int, losses: Sequence[float], seconds: float) -> dict[str, Any]:
    mean = round(sum(losses) / len(losses), 4)
    return {"step": step, "steps": steps, "loss": mean, "seconds_per_step": round(seconds / len(losses), 3)}
