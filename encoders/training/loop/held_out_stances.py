"""Measure how well a stance classifier reads held-out pairs, by task."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from encoders.labels.pairs import Pair
from encoders.training.architectures.claims import read_claims
from encoders.training.architectures.scoring import autocast
from encoders.training.data.batches import ClaimExample, Example, make_claim_example
from encoders.training.recipe import Recipe
from mappings.errors import ModelError
from mappings.stances import STANCES

Table = dict[str, dict[str, float]]
TOGETHER = 16
"""Passages in one run."""


def evaluate_stances(
    model: Any, tokenizer: Any, pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, queries: int
) -> Table:
    """`macro_F1` and `hit@2` by task on at most `queries` held-out pairs with a stance, and their means over tasks.

    `macro_F1` is over the stances that a task has, `hit@2` the share of the passages with marked sentences of which one is
    among the two best.
    """
    table: Table = {}
    model.eval()
    for task, found in pairs.items():
        draw = random.Random(f"{recipe.seed}:held-out:{task}")  # noqa: S311 - reproducible, not secret
        known = [pair for pair in found if pair.stance]
        chosen = draw.sample(known, min(queries, len(known)))
        examples = [make_claim_example(pair, recipe.tasks[task], random.Random(pair.id)) for pair in chosen]  # noqa: S311
        if examples:
            table[task] = _measure(model, tokenizer, examples, recipe)
    for name in ("macro_F1", "hit@2"):
        values = [row[name] for task, row in table.items() if task != "mean" and name in row]
        table.setdefault("mean", {})[name] = round(sum(values) / max(1, len(values)), 4)
    model.train()
    return table


@torch.inference_mode()
def _measure(model: Any, tokenizer: Any, examples: Sequence[Example], recipe: Recipe) -> dict[str, float]:
    wanted, read, hits = list[str](), list[str](), list[bool]()
    ordered = sorted(examples, key=lambda item: len(item.texts[0]))
    for start in range(0, len(ordered), TOGETHER):
        batch = ordered[start : start + TOGETHER]
        claims = [item.claim for item in batch if item.claim is not None]
        with autocast(model, recipe):
            found = read_claims(
                model, tokenizer, [item.query for item in batch], [one.passage for one in claims], recipe
            )
        if not found.stances.isfinite().all():
            raise ModelError("the model reads a held-out claim with NaN or infinity", field="scores")
        evidence = found.evidence.masked_fill(~found.known, float("-inf"))
        for row, item in enumerate(claims):
            wanted.append(item.stance)
            read.append(STANCES[int(found.stances[row].argmax())])
            hits += _hits(evidence[row], item)
    row = {"queries": float(len(wanted)), "macro_F1": round(macro_f1(wanted, read), 4)}
    return row | ({"hit@2": round(sum(hits) / len(hits), 4)} if hits else {})


def _hits(evidence: torch.Tensor, item: ClaimExample) -> list[bool]:
    """Whether a marked sentence is among the two best; empty where none is marked."""
    if not item.marked or not any(item.marked):
        return []
    best = evidence[: len(item.marked)].argsort(descending=True, stable=True)[:2]
    return [any(item.marked[int(place)] for place in best)]


def macro_f1(wanted: Sequence[str], read: Sequence[str]) -> float:
    """The mean F1 over the stances that are wanted at least once."""
    scores = []
    for stance in STANCES:
        hits = sum(one == two == stance for one, two in zip(wanted, read, strict=True))
        count = wanted.count(stance)
        if count:
            scores.append(2 * hits / (count + read.count(stance)))
    return sum(scores) / max(1, len(scores))
