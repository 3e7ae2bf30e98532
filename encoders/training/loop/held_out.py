"""Measure how well a model ranks held-out pairs: the positive among its mined candidates, by task."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from encoders.labels.pairs import Pair
from encoders.training.architectures.scoring import autocast, score_all, score_pairs
from encoders.training.data.batches import Example, make_example
from encoders.training.loop.held_out_stances import Table, evaluate_stances
from encoders.training.recipe import Recipe
from mappings.errors import ModelError


def evaluate_held_out(
    model: Any, tokenizer: Any, pairs: Mapping[str, Sequence[Pair]], recipe: Recipe, queries: int = 60
) -> Table:
    """`RR` and `Success@1` by task on at most `queries` held-out pairs per task, and their mean over tasks.

    Of a stance classifier, `macro_F1` and `hit@2`. Raises `ModelError` for a model with NaN or infinite scores.
    """
    if recipe.kind == "stance-classifier":
        return evaluate_stances(model, tokenizer, pairs, recipe, queries)
    model.eval()
    found = {
        task: [_rank(model, tokenizer, item, recipe) for item in draw_sample(own, recipe, task, queries)]
        for task, own in pairs.items()
    }
    model.train()
    return tabulate(found)


def tabulate(ranks: Mapping[str, Sequence[int]]) -> Table:
    """`RR` and `Success@1` by task from the ranks of its answers, and their mean over tasks; nothing without any answer."""
    table: Table = {}
    for task, own in ranks.items():
        if own:
            table[task] = {
                "queries": len(own),
                "RR": round(sum(1 / rank for rank in own) / len(own), 4),
                "Success@1": round(sum(rank == 1 for rank in own) / len(own), 4),
            }
    if not table:
        return {}
    names = ("RR", "Success@1")
    return table | {"mean": {name: round(sum(row[name] for row in table.values()) / len(table), 4) for name in names}}


def main_measure(recipe: Recipe) -> str:
    """The measure by which states of a run are compared."""
    return "macro_F1" if recipe.kind == "stance-classifier" else "RR"


def draw_sample(pairs: Sequence[Pair], recipe: Recipe, task: str, queries: int) -> list[Example]:
    """A fixed sample of the pairs with all their candidates; context is shown as often as in training."""
    draw = random.Random(f"{recipe.seed}:held-out:{task}")  # noqa: S311 - reproducible, not secret
    chosen = draw.sample(pairs, min(queries, len(pairs)))
    share = replace(recipe.tasks[task], repeat=1)
    return [
        make_example(pair, share, len(pair.negatives), random.Random(pair.id), recipe.windows)  # noqa: S311
        for pair in chosen
    ]


@torch.inference_mode()
def _rank(model: Any, tokenizer: Any, item: Example, recipe: Recipe) -> int:
    return rank_first(_scores(model, tokenizer, item, recipe), item.query)


def rank_first(scores: Tensor, query: str) -> int:
    """The rank of the first of the candidates with these scores, from 1; a tie counts against it. Raises `ModelError`."""
    if not scores.isfinite().all():  # comparisons with NaN are false, so a broken model would rank its answer first
        raise ModelError(f"the model scores the held-out query {query!r} with NaN or infinity", field="scores")
    return int((scores[1:] >= scores[0]).sum()) + 1


def _scores(model: Any, tokenizer: Any, item: Example, recipe: Recipe) -> Tensor:
    with autocast(model, recipe):
        if recipe.kind == "cross-encoder":
            return score_pairs(model, tokenizer, [item.query] * len(item.texts), item.texts, recipe).float()
        return score_all(model, tokenizer, [item.query], item.texts, recipe)[0].float()
