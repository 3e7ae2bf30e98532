"""Why a hit stands where it stands, as numbers that add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from search.ranking.cascade import Ranked


def explain(item: Ranked, matched: Sequence[str]) -> dict[str, Any]:
    """Rank and score in each leg, the fusion arithmetic, the reranker's part, the matched terms.

    `fused` = Σ contribution over the legs; `score` = Σ `final` parts.
    """
    return {
        "legs": {
            leg: {
                "rank": part.rank,
                "score": part.score,
                "normalised": part.normalised,
                "weight": part.weight,
                "contribution": part.contribution,
            }
            for leg, part in item.fused.parts.items()
        },
        "fused": item.fused.score,
        "reranker": None
        if item.cross is None
        else {
            "logit": item.cross,
            "normalised": item.normalised,
            "weight": item.weight,
            "contribution": item.weight * (item.normalised or 0.0),
            "stage": item.stage,
        },
        "final": _final(item),
        "score": item.score,
        "matched_terms": list(matched),
    }


def _final(item: Ranked) -> dict[str, float]:
    below = {"below": -item.below} if item.below else {}
    if item.cross is not None:
        parts = {"fused": (1 - item.weight) * item.fused.score, "reranker": item.weight * (item.normalised or 0.0)}
        return parts | below
    rest = item.score - item.fused.score
    return {"fused": item.fused.score} | ({"not_reranked": rest} if rest else {})
