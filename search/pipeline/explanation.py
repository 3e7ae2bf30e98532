"""Why a hit ranks where it does, in numbers that add up."""

from __future__ import annotations

from collections.abc import Sequence

from mappings.documents import Access
from search.pipeline.results import Explanation, RerankContribution
from search.protocols import BM25
from search.ranking.candidates import Candidate, LegContribution


def explain(candidate: Candidate, matched: Sequence[str], access: Access) -> Explanation:
    """Rank and score in each leg, the arithmetic of fusion and reranking, and the matched terms.

    A BM25 score counts how many documents of the whole index contain a word, hidden ones too: only callers who may see
    every document get it. The scores of the other legs depend on the query and the passage alone.
    """
    return Explanation(
        legs={name: _known(name, leg, access) for name, leg in candidate.contributions.items()},
        fused=candidate.fused,
        reranker=_rerank_contribution(candidate),
        final=_final(candidate),
        score=candidate.score,
        matched_terms=tuple(matched),
    )


def _known(name: str, leg: LegContribution, access: Access) -> LegContribution:
    return leg if access.everything or name != BM25 else leg._replace(score=None)


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
