"""Runs that a test makes in one process and in two: `python process_runs.py HOME OUT PORT…` is one of the two.

The variables are those that torchrun sets, and each run has a port of its own.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tiny_models import BI, CROSS

from encoders.training.loop import optimise
from encoders.training.loop.processes import join_processes
from encoders.training.recipe import Recipe, Share
from encoders.training.runs.train import train
from mappings.errors import Conflict

EXACT = {"dropout": 0.0, "save_every": 2, "steps": 3, "tasks": {"claim": Share(repeat=3)}}
STANCES = {"tasks": {"stance-x": Share(repeat=3)}, "negatives": 0}
RUNS = {
    "contrastive": replace(BI, **EXACT, batch=5, evaluate_every=2),
    "chunks of tokens": replace(BI, **EXACT, kind="poly-encoder", codes="tokens", towers="separate", batch=5, chunk=2),
    "kept triplet": replace(BI, **EXACT, objective="triplet-both", softmax=0.5, keep=0.3, batch=4),
    "taught": replace(CROSS, **EXACT, batch=3, distillation="kl", teacher_share=0.5, teacher="cross-run/checkpoint"),
    "interaction in chunks": replace(CROSS, **EXACT, batch=5, chunk=4, head="interaction"),
    # Of 13 examples in batches of 2 the last is alone, and one of the processes without any.
    "stances": replace(
        CROSS, **{**EXACT, **STANCES, "steps": 0}, kind="stance-classifier", objective="stance", batch=2
    ),
    # 40 steps of which a test interrupts others: what one process draws, another can't.
    "with dropout": replace(BI, **{**EXACT, "steps": 0, "dropout": 0.3, "tasks": {"claim": Share(repeat=20)}}, batch=4),
}


def run(name: str, home: Path, out: Path) -> dict[str, Any]:
    """Train by one of `RUNS`; its base, and its teacher if it has one, are in `home`."""
    recipe: Recipe = RUNS[name]
    teacher = recipe.teacher and str(home / recipe.teacher)
    return train(replace(recipe, base=str(home / "bert"), teacher=teacher), home / "pairs", out / name, queries=2)


def run_plain(out: Path) -> None:
    """A model and a loss that know nothing of processes: a mean over pairs of numbers."""
    torch.manual_seed(int(os.environ.get("RANK", "0")))  # the first one's weights count
    model, spare = torch.nn.Linear(3, 1), torch.nn.Parameter(torch.ones(2))
    model.register_parameter("spare", spare)  # no loss uses it
    draw = torch.Generator().manual_seed(1)
    batches = [list(torch.randn(5, 4, generator=draw)) for _ in range(4)]

    def loss(batch: list[torch.Tensor]) -> torch.Tensor:
        rows = torch.stack(batch)
        return (model(rows[:, :3]).squeeze(1) - rows[:, 3]).pow(2).mean()

    out.mkdir(parents=True, exist_ok=True)
    with join_processes("cpu", 5) as processes:
        identity = {"recipe": {}, "inputs": {}}
        context = optimise.LoopContext(
            model, replace(CROSS, steps=4), out, lambda entry: None, identity, loss, processes=processes
        )
        optimise.optimise(context, batches)


def main() -> None:
    home, out, *ports = sys.argv[1:]
    for name, port in zip(RUNS, ports, strict=False):
        os.environ["MASTER_PORT"] = port
        run(name, Path(home), Path(out))
    os.environ["MASTER_PORT"] = ports[-2]
    run_plain(Path(out) / "plain")
    os.environ["MASTER_PORT"], rank = ports[-1], os.environ["RANK"]
    other = replace(BI, base=f"{home}/bert", tasks={"claim": Share()}, batch=4 + int(rank))
    try:
        train(other, Path(home) / "pairs", Path(out) / "other")
    except Conflict as error:
        (Path(out) / f"conflict-{rank}").write_text(error.message)


if __name__ == "__main__":
    main()
