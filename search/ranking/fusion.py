"""Fuse several rankings into one, by weighted sums of normalised scores or by reciprocal ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

from mappings.errors import InvalidInput
from mappings.stages import Fusion
from search.query import Ranking, in_order
from search.ranking.candidates import Candidate, LegContributions

RRF_K = 60
"""The rank constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""


def min_max(scores: Sequence[float]) -> list[float]:
    """Scores scaled to [0, 1], in the same order; equal scores all become 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    # Halve the scores first: the difference of two huge ones would overflow.
    span = high / 2 - low / 2
    return [(score / 2 - low / 2) / span if span > 0 else 1.0 for score in scores]


def z_score(scores: Sequence[float]) -> list[float]:
    """Scores in standard deviations above the mean, mapped to (0, 1) by the logistic function."""
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    return [1 / (1 + math.exp(-(score - mean) / deviation)) if deviation > 0 else 0.5 for score in scores]


def reciprocal_rank(scores: Sequence[float]) -> list[float]:
    """(k + 1) / (k + rank): reciprocal ranks, scaled so that the first gets 1."""
    return [(RRF_K + 1) / (RRF_K + rank) for rank in range(1, len(scores) + 1)]


def from_floor(scores: Sequence[float]) -> list[float]:
    """Theoretical min-max (Bruch, Gai and Ingber 2023, section 3): scores divided by the best; negative ones become 0.

    The minimum is 0, which no BM25 score falls below, instead of the lowest fetched score: so the depth of the ranking does
    not decide what a difference at its top is worth.
    """
    best = max(scores, default=0.0)
    return [max(0.0, score) / best if best > 0 else 0.0 for score in scores]


NORMALISATIONS: Mapping[str, Callable[[Sequence[float]], list[float]]] = {
    "floor": from_floor,
    "minmax": min_max,
    "zscore": z_score,
}


def fuse(legs: Mapping[str, Ranking], fusion: Fusion) -> list[Candidate]:
    """All passages of all legs, best first: by fused score descending, then by passage id.

    A leg without weight is left out. The weights of the others are scaled to sum to 1, so that a fused score lies in [0, 1]
    even if a leg is missing. A leg contributes 0 to a passage that it did not return.
    """
    weights = _normalise_weights(legs, fusion.weights)
    normalise = reciprocal_rank if fusion.method == "rrf" else _normalisation(fusion.normalisation)
    totals: dict[str, float] = {}
    documents: dict[str, str] = {}
    contributions = {}
    for leg, weight in weights.items():
        if not legs[leg]:
            continue
        passages, own, scores = zip(*legs[leg].items, strict=True)
        values = normalise(scores)
        contributions[leg] = (passages, scores, values, weight)
        documents.update(zip(passages, own, strict=True))  # in the same order as `totals`
        for passage, value in zip(passages, values, strict=True):
            totals[passage] = totals.get(passage, 0.0) + weight * value
    final = _within_one(list(totals.values()))
    return in_order(map(Candidate, totals, documents.values(), final, repeat(LegContributions(contributions))))


def _within_one(scores: list[float]) -> list[float]:
    """Scores of which some may have left [0, 1] by a rounding error."""
    if min(scores, default=0.0) >= 0 and max(scores, default=0.0) <= 1:
        return scores
    return [min(1.0, max(0.0, score)) for score in scores]


def _normalise_weights(legs: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, float]:
    present = {leg: weights.get(leg, 0.0) for leg in legs if weights.get(leg, 0.0) > 0}
    if not present:  # every leg that answered has weight 0: an answer from those is better than none
        present = dict.fromkeys(legs, 1.0)
    total = sum(present.values())
    return {leg: weight / total for leg, weight in present.items()}


def _normalisation(name: str) -> Callable[[Sequence[float]], list[float]]:
    if name not in NORMALISATIONS:
        raise InvalidInput(
            f"unknown normalisation {name!r}; known are {', '.join(sorted(NORMALISATIONS))}", field="normalisation"
        )
    return NORMALISATIONS[name]
