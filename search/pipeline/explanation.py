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
    reranker = _rerank_contribution(candidate)
    return Explanation(
        legs={name: _known(name, leg, access) for name, leg in candidate.contributions.items()},
        fused=candidate.fused,
        reranker=reranker,
        final=_final(candidate, reranker),
        score=candidate.score,
        matched_terms=tuple(matched),
    )


def _known(name: str, leg: LegContribution, access: Access) -> LegContribution:
    return leg if access.everything or name != BM25 else leg._replace(score=None)


def _rerank_contribution(candidate: Candidate) -> RerankContribution | None:
    reranking, level = candidate.reranking, candidate.level
    if reranking is None or reranking.logit is None:
        return None
    weight = level.scale * reranking.weight
    # A later page computes `normalised` from a rounded score, so the sum could differ in the sixth place.
    contribution = min(weight * (reranking.normalised or 0.0), max(0.0, candidate.score - level.offset))
    return RerankContribution(reranking.logit, reranking.normalised, weight, contribution, reranking.stage)


def _final(candidate: Candidate, reranker: RerankContribution | None) -> dict[str, float]:
    """The parts that sum to the final score."""
    offset, share = candidate.level.offset, reranker.contribution if reranker else 0.0
    parts = {"fused": max(0.0, candidate.score - offset - share)}
    if reranker is not None:
        parts["reranker"] = share
    return parts | ({"level": offset} if offset else {})
