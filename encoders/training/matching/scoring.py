"""The loss of a matching network on a batch of examples, and how well it ranks held-out pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from encoders.labels.pairs import Pair
from encoders.training.data.batches import Example
from encoders.training.loop.held_out import Table, draw_sample, rank_first, tabulate
from encoders.training.matching.inputs import WordTable
from encoders.training.matching.matcher import Matcher, score_texts
from encoders.training.matching.recipe import MatcherRecipe


def compute_match_loss(model: Matcher, table: WordTable, batch: Sequence[Example], others: int = 0) -> Tensor:
    """Cross-entropy of each answer against the other texts of its example, and against answers to `others` other queries.

    The answer is the first text of an example. Answers to other queries that answer this one, too, do not count.
    """
    candidates = gather_candidates(batch, others)
    queries = [item.query for item, (texts, _) in zip(batch, candidates, strict=True) for _ in texts]
    scores = model(table.batch(queries, [text for texts, _ in candidates for text in texts])).view(len(batch), -1)
    counted = torch.tensor([counted for _, counted in candidates], device=scores.device)
    scores = scores.masked_fill(~counted, float("-inf"))
    return functional.cross_entropy(scores, scores.new_zeros(len(batch), dtype=torch.long))


def gather_candidates(examples: Sequence[Example], others: int) -> list[tuple[list[str], list[bool]]]:
    """For each example its texts and the answers to the next `others` examples, and which of them count as candidates."""
    found = []
    for place, item in enumerate(examples):
        more = [examples[(place + step) % len(examples)] for step in range(1, 1 + min(others, len(examples) - 1))]
        texts = [*item.texts, *(other.texts[0] for other in more)]
        found.append((texts, [True] * len(item.texts) + [other.ids[0] not in item.relevant for other in more]))
    return found


def evaluate_matcher(
    model: Matcher, table: WordTable, pairs: Mapping[str, Sequence[Pair]], recipe: MatcherRecipe, queries: int
) -> Table:
    """`RR` and `Success@1` by task on at most `queries` held-out pairs per task, and their mean over tasks.

    A pair's candidates are its own and the answers to `others` other pairs of the sample.
    """
    model.eval()
    found = {task: _rank(model, table, draw_sample(own, recipe, task, queries), recipe) for task, own in pairs.items()}
    model.train()
    return tabulate(found)


def _rank(model: Matcher, table: WordTable, examples: Sequence[Example], recipe: MatcherRecipe) -> list[int]:
    ranks = []
    for item, (texts, counted) in zip(examples, gather_candidates(examples, recipe.others), strict=True):
        kept = [text for text, counts in zip(texts, counted, strict=True) if counts]
        ranks.append(rank_first(score_texts(model, table, item.query, kept), item.query))
    return ranks
