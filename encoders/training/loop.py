"""One loop for every objective: batches in order, a warm-up and a straight line down, checkpoints that survive a kill."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoders.training.data import Example
from encoders.training.models import embed, score
from encoders.training.objectives import RERANKING, contrastive
from encoders.training.recipe import Recipe

Log = Callable[[dict[str, Any]], None]


def learning_rate(step: int, steps: int, recipe: Recipe) -> float:
    """Linear warm-up over the first part, then linear to 0 at `steps`."""
    warm = max(1, round(steps * recipe.warmup))
    part = (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)
    return recipe.learning_rate * max(0.0, part)


def loss_of(model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe) -> Tensor:
    """The recipe's objective on one batch."""
    if recipe.kind == "bi-encoder":
        return _contrastive(model, tokenizer, batch, recipe)
    queries = [item.query for item in batch for _ in item.texts]
    texts = [text for item in batch for text in item.texts]
    with _precision(model, recipe):
        scores = score(model, tokenizer, queries, texts, recipe)
    return RERANKING[recipe.objective](scores.float().view(len(batch), -1))


def _precision(model: Any, recipe: Recipe) -> Any:
    """The model computes in the recipe's precision; the loss, which is small and steep, always in float32."""
    return torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.precision == "bf16")


def _contrastive(model: Any, tokenizer: Any, batch: Sequence[Example], recipe: Recipe) -> Tensor:
    columns = [(item.ids[at], item.texts[at]) for at in range(recipe.negatives + 1) for item in batch]
    known = torch.tensor([[name in item.relevant for name, _ in columns] for item in batch])
    known[:, : len(batch)].fill_diagonal_(False)
    with _precision(model, recipe):
        queries = embed(model, tokenizer, [item.query for item in batch], recipe.max_query)
        passages = embed(model, tokenizer, [text for _, text in columns], recipe.max_length)
    return contrastive(queries.float(), passages.float(), known.to(queries.device), recipe.temperature)


def optimise(
    model: Any, tokenizer: Any, batches: Sequence[Sequence[Example]], recipe: Recipe, run: Path, log: Log
) -> None:
    """Train `model` in place over `batches`, from the last checkpoint in `run` where there is one."""
    torch.manual_seed(recipe.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = min(recipe.steps or len(batches), len(batches))
    first = _restore(run, model, optimiser)
    model.train()
    clock, running = time.monotonic(), []
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, steps, recipe)
        loss = loss_of(model, tokenizer, batches[step], recipe)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        running.append(loss.item())
        if (step + 1) % 10 == 0 or step + 1 == steps:
            rate = round((time.monotonic() - clock) / len(running), 3)
            log(
                {
                    "step": step + 1,
                    "steps": steps,
                    "loss": round(sum(running) / len(running), 4),
                    "seconds_per_step": rate,
                }
            )
            clock, running = time.monotonic(), []
        if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
            _keep(run, model, optimiser, step + 1)


def _keep(run: Path, model: Any, optimiser: Any, step: int) -> None:
    """Write the state aside, then put it in the place of the last one: a kill leaves one or the other, whole."""
    aside = run / "state.partial"
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "rng": torch.get_rng_state(),
    }
    torch.save(state, aside)
    aside.replace(run / "state.pt")


def _restore(run: Path, model: Any, optimiser: Any) -> int:
    path = run / "state.pt"
    if not path.is_file():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    torch.set_rng_state(state["rng"])
    return int(state["step"])


def log_to(path: Path) -> Log:
    """A log that appends one JSON object a line."""

    def write(record: dict[str, Any]) -> None:
        with path.open("a") as file:
            file.write(json.dumps({"time": round(time.time(), 1), **record}) + "\n")

    return write
