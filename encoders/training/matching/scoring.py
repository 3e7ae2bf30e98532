"""The scores of a matching network, its loss on a batch of examples, and how well it ranks held-out pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from encoders.labels.pairs import Pair
from encoders.training.data.batches import Example
from encoders.training.loop.held_out import Table, draw_sample, rank_first, tabulate
from encoders.training.matching.inputs import WordTable
from encoders.training.matching.matcher import Matcher
from encoders.training.matching.recipe import MatcherRecipe

AT_ONCE = 128


def compute_match_loss(model: Matcher, table: WordTable, batch: Sequence[Example]) -> Tensor:
    """Cross-entropy of each answer against its query's own negatives; the answer is the first text of an example."""
    queries = [item.query for item in batch for _ in item.texts]
    scores = model(table.batch(queries, [text for item in batch for text in item.texts])).view(len(batch), -1)
    return functional.cross_entropy(scores, scores.new_zeros(len(batch), dtype=torch.long))


@torch.inference_mode()
def score_texts(model: Matcher, table: WordTable, query: str, texts: Sequence[str]) -> Tensor:
    """The score of each text, shape (texts,)."""
    parts = (texts[at : at + AT_ONCE] for at in range(0, len(texts), AT_ONCE))
    found = [model(table.batch([query] * len(part), part)).float().cpu() for part in parts]
    return torch.cat(found) if found else torch.zeros(0)


def evaluate_matcher(
    model: Matcher, table: WordTable, pairs: Mapping[str, Sequence[Pair]], recipe: MatcherRecipe, queries: int
) -> Table:
    """`RR` and `Success@1` by task on at most `queries` held-out pairs per task, and their mean over tasks."""
    model.eval()
    found = {
        task: [
            rank_first(score_texts(model, table, item.query, item.texts), item.query)
            for item in draw_sample(own, recipe, task, queries)
        ]
        for task, own in pairs.items()
    }
    model.train()
    return tabulate(found)
