"""Vector scores beside BM25's in a complete ranking, and feedback from the best; both chosen on the other fold's queries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.measures import Values
from evaluation.suites.radiology.judgements import FindingJudgements, measure
from mappings.stages import Feedback
from search.ranking.feedback import towards

Choice = TypeVar("Choice", bound=Hashable)
SHARES: Final = tuple(round(0.1 * step, 1) for step in range(11))
"""The shares of BM25 that a fold's share is chosen from."""
EQUAL: Final = 0.5
FEEDBACKS: Final = (
    None,
    *(Feedback(passages, share) for passages in (3, 5, 10) for share in (0.2, 0.4, 0.6, 0.8)),
)
"""The ways of feedback that a fold's is chosen from; None is to search once."""


def fuse_scores(found: FindingJudgements, words: Values, vectors: Values) -> tuple[Values, Mapping[int, float]]:
    """Scores of shape (queries, n), and fold → BM25's share there: the best by mAP for the queries of the other folds.

    `words` and `vectors` are scores of that shape; each counts as a share of the query's best score, as `search.ranking.fusion.from_floor`
    computes it. So no query helps to choose the share that it is ranked with (though its fold trained the model that ranks
    for the others). Of equal shares the lowest is taken; with queries of one fold only, both count the same.
    """
    left, right = _from_floor(words), _from_floor(vectors)
    mixed = {share: share * left + (1 - share) * right for share in SHARES}
    precisions = {share: _precisions(found, scores) for share, scores in mixed.items()}
    chosen = {fold: _best(precisions, elsewhere, EQUAL) for fold, elsewhere in _others(found).items()}
    return np.stack([mixed[chosen[item.fold]][place] for place, item in enumerate(found.queries)]), chosen


def mix_scores(words: Values, vectors: Values, share: float) -> Values:
    """Scores of shape (queries, n) as `fuse_scores` computes them, with the same share of BM25 for all queries."""
    mixed: Values = share * _from_floor(words) + (1 - share) * _from_floor(vectors)
    return mixed


def apply_feedback(
    found: FindingJudgements,
    words: Values,
    queries: Sequence[Values],
    sentences: Sequence[Values],
    shares: Mapping[int, float],
) -> tuple[Values, Mapping[int, Feedback | None]]:
    """Scores of shape (queries, n) with feedback as `search.ranking.feedback` gives it, and fold → the way that is best for the others.

    For each query, in order: its vector of shape (d,), and those of all sentences by the same encoder, shape (n, d).
    `shares` are BM25's, as `fuse_scores` chose them; a fold's way of feedback is chosen with its own share of BM25 throughout.
    Of equal ways the first of `FEEDBACKS` is taken; with queries of one fold only there is no feedback.
    """
    chosen, scores = {}, {}
    for fold, elsewhere in _others(found).items():
        mixed = _ways(words, queries, sentences, shares[fold])
        precisions = {way: _precisions(found, values) for way, values in mixed.items()}
        chosen[fold] = _best(precisions, elsewhere, None)
        scores[fold] = mixed[chosen[fold]]
    return np.stack([scores[item.fold][place] for place, item in enumerate(found.queries)]), chosen


def _ways(
    words: Values, queries: Sequence[Values], sentences: Sequence[Values], share: float
) -> dict[Feedback | None, Values]:
    """Way of feedback → scores of shape (queries, n), with that share of BM25 before and after."""
    left = share * _from_floor(words)

    def beside(vectors: Sequence[Values]) -> Values:
        cosines = np.stack([matrix @ vector for matrix, vector in zip(sentences, vectors, strict=True)])
        mixed: Values = left + (1 - share) * _from_floor(cosines)
        return mixed

    once = beside(queries)
    order = np.argsort(-once, axis=1, kind="stable")
    ways: dict[Feedback | None, Values] = {None: once}
    for way in filter(None, FEEDBACKS):
        best = order[:, : way.passages]
        ways[way] = beside([_move(*each, way.share) for each in zip(queries, sentences, best, strict=True)])
    return ways


def _move(query: Values, sentences: Values, best: NDArray[np.intp], share: float) -> Values:
    return towards(query.astype(np.float32), sentences[best].astype(np.float32), share).astype(np.float64)


def _precisions(found: FindingJudgements, scores: Values) -> Values:
    return measure(found, lambda _: scores)["AP"]


def _others(found: FindingJudgements) -> dict[int, np.ndarray]:
    """Fold → marks of the queries of other folds."""
    folds = np.array([item.fold for item in found.queries])
    return {int(fold): folds != fold for fold in np.unique(folds)}


def _best(precisions: Mapping[Choice, Values], elsewhere: np.ndarray, otherwise: Choice) -> Choice:
    if not elsewhere.any():
        return otherwise
    return max(precisions, key=lambda choice: round(float(precisions[choice][elsewhere].mean()), 6))


def _from_floor(scores: Values) -> Values:
    best = np.maximum(scores.max(axis=1, keepdims=True), 0)
    shares: Values = np.divide(np.maximum(scores, 0), best, out=np.zeros_like(scores), where=best > 0)
    return shares
