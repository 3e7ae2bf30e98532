"""A vector score beside BM25 in a complete ranking, its share chosen on the queries of the other fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from search.evaluation.tasks.radiology import Judgements, Values, measured

SHARES: Final = tuple(round(0.1 * step, 1) for step in range(11))
"""Shares of BM25 among which a fold's is chosen."""
EQUAL: Final = 0.5


def fused(found: Judgements, words: Values, vectors: Values) -> tuple[Values, Mapping[int, float]]:
    """Scores of shape (queries, n), and fold -> BM25's share there: the best by mAP for the queries of the other folds.

    `words` and `vectors` are scores of that shape; each counts as a share of the query's best, as `search.fusion.from_floor`
    has it. So no query helps to choose the share that it is ranked with. Of equals the lowest share is taken; queries
    of one fold alone have nothing to choose by, and both count the same.
    """
    left, right = _from_floor(words), _from_floor(vectors)
    mixed = {share: share * left + (1 - share) * right for share in SHARES}
    precisions = {share: _precisions(found, scores) for share, scores in mixed.items()}
    folds = [item.fold for item in found.queries]
    chosen = {fold: _best(precisions, np.array(folds) != fold) for fold in sorted(set(folds))}
    return np.stack([mixed[chosen[fold]][place] for place, fold in enumerate(folds)]), chosen


def _precisions(found: Judgements, scores: Values) -> Values:
    return measured(found, lambda _: scores)["AP"]


def _best(precisions: Mapping[float, Values], elsewhere: np.ndarray) -> float:
    if not elsewhere.any():
        return EQUAL
    return max(precisions, key=lambda share: round(float(precisions[share][elsewhere].mean()), 6))


def _from_floor(scores: Values) -> Values:
    best = np.maximum(scores.max(axis=1, keepdims=True), 0)
    shares: Values = np.divide(np.maximum(scores, 0), best, out=np.zeros_like(scores), where=best > 0)
    return shares
