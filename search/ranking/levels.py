"""Final scores over levels: what was read more closely, or is of a better tier, ranks above the rest, in scores of [0, 1].

A level is one tier and one rerank stage. With K levels present, level l (0 is the best) has the scores from (K − 1 − l + gap) / K
to (K − l) / K: no score is negative, none exceeds 1, and a small gap keeps the levels apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from search.query import in_order
from search.ranking.candidates import Candidate, Level, RerankScore

_STAGES: Final = {"last": 0, "first": 1, "": 2}


def rank_by_level(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates by tier, then by the stage that scored them, then by score descending, then by passage id.

    Their scores are fused or blended with a reranker's, in [0, 1] and not yet those of a level. If all are of one level, the
    scores stay as they are.
    """
    items = list(candidates)
    keys = [(item.tier, _STAGES[item.stage]) for item in items]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    if len(numbers) < 2:
        return in_order([item if 0 <= item.score <= 1 else _within(item) for item in items])
    levels = [Level(number, len(numbers)) for number in range(len(numbers))]
    bounds = [(level, level.offset, level.scale) for level in levels]
    return in_order([_placed(item, *bounds[numbers[key]]) for item, key in zip(items, keys, strict=True)])


def _within(item: Candidate) -> Candidate:
    """The candidate whose score left [0, 1] by a rounding error."""
    return item._replace(score=min(1.0, max(0.0, item.score)))


def _placed(item: Candidate, level: Level, offset: float, scale: float) -> Candidate:
    passage, document, score, legs, reranking, tier, _ = item
    final = offset + scale * min(1.0, max(0.0, score))
    return Candidate(passage, document, final, legs, reranking or RerankScore(score), tier, level)
