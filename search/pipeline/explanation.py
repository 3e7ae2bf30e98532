"""Why a hit ranks where it does, in numbers that add up."""

from __future__ import annotations

from collections.abc import Sequence

from search.pipeline.results import Explanation, RerankContribution
from search.ranking.candidates import Candidate


def explain(candidate: Candidate, matched: Sequence[str]) -> Explanation:
    """Rank and score in each leg, the arithmetic of fusion and reranking, and the matched terms."""
    return Explanation(
        legs=candidate.contributions,
        fused=candidate.fused,
        reranker=_rerank_contribution(candidate),
        final=_final(candidate),
        score=candidate.score,
        matched_terms=tuple(matched),
    )


def _rerank_contribution(candidate: Candidate) -> RerankContribution | None:
    reranking = candidate.reranking
    if reranking is None or reranking.logit is None:
        return None
    contribution = reranking.weight * (reranking.normalised or 0.0)
    return RerankContribution(reranking.logit, reranking.normalised, reranking.weight, contribution, reranking.stage)


def _final(candidate: Candidate) -> dict[str, float]:
    """The parts that sum to the final score."""
    reranking, contribution = candidate.reranking, _rerank_contribution(candidate)
    below = {"below": -reranking.floor} if reranking and reranking.floor else {}
    if contribution is not None:
        return {"fused": (1 - contribution.weight) * candidate.fused, "reranker": contribution.contribution} | below
    rest = candidate.score - candidate.fused
    return {"fused": candidate.fused} | ({"not_reranked": rest} if rest else {})
