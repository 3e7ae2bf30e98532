"""The reranking step of a search: rerankers score the best candidates until the deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mappings.collection import Reranking
from mappings.errors import MedleyError
from search.pipeline.results import RerankCoverage
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import SearchServices, Trace, rerank_deadline
from search.query import Query
from search.ranking.candidates import Candidate
from search.ranking.cascade import RerankStages, StageScores, combine, score_window

EVIDENCE_SHARE = 0.2
"""The share of the deadline that is reserved for choosing evidence sentences with the cross-encoder."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What reranking hands to presentation: the candidates in final order, and how many of them were scored."""

    candidates: Sequence[Candidate]
    coverage: RerankCoverage


def rerank(query: Query, retrieved: Retrieved, services: SearchServices, trace: Trace) -> Reranked:
    """The candidates in final order; those beyond the rerank window, and those that no stage scored, rank below the others.

    A missing or failing model never raises: the fused order stays, and `trace.degraded` says why.
    """
    candidates, reranking = retrieved.candidates, retrieved.collection.reranking
    if not query.rerank or not candidates:
        return Reranked(candidates, RerankCoverage(0, 0))
    window, visible = drop_inaccessible(retrieved, rerank_window(retrieved, services))
    trace.step("fetch")
    until = rerank_deadline(query, services, retrieved.collection, trace, 1 - EVIDENCE_SHARE)
    try:
        stages = services.reranker(retrieved.collection)
        if stages is None:
            return Reranked(visible, RerankCoverage(0, 0))
        scores = score_window_candidates(retrieved, window, stages, reranking, until)
    except MedleyError as error:
        trace.degraded.append(f"the reranker failed ({error.message}); the fused order is shown")
        return Reranked(visible, RerankCoverage(0, len(window)))
    trace.step("rerank")
    trace.degraded += _explain_unscored(scores, stages, reranking, len(window))
    ranked = sorted(combine(visible, scores, reranking), key=lambda item: item.tier)
    return Reranked(ranked, RerankCoverage(len(scores), len(window)))


def rerank_window(retrieved: Retrieved, services: SearchServices) -> Sequence[Candidate]:
    """The candidates that are reranked: the best ones of the fused order, as many as the collection or the settings say."""
    return retrieved.candidates[: services.settings.candidates or retrieved.collection.reranking.candidates]


def drop_inaccessible(retrieved: Retrieved, window: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """(window, all candidates), both without those of the window that no longer exist or that the caller may not see."""
    texts = retrieved.contents.passages([item.passage for item in window])
    gone = {item.passage for item in window} - texts.keys()
    return (
        [item for item in window if item.passage not in gone],
        [item for item in retrieved.candidates if item.passage not in gone],
    )


def score_window_candidates(
    retrieved: Retrieved,
    window: Sequence[Candidate],
    stages: RerankStages,
    reranking: Reranking,
    until: float | None = None,
) -> StageScores:
    """Logits of the window's candidates that the stages scored before the moment `until`; of all if it is None."""
    texts = retrieved.contents.passages([item.passage for item in window])
    passages = [texts[item.passage] for item in window]
    return score_window(stages, reranking, retrieved.understanding.model_text, window, passages, until)


def _explain_unscored(scores: StageScores, stages: RerankStages, reranking: Reranking, candidates: int) -> list[str]:
    """Messages for the answer: which stage failed, and how many candidates the deadline left unscored."""
    if scores.missing:
        failed = [f"the first reranking stage failed ({scores.missing}); only the last stage ran"]
        rest = replace(scores, missing=""), replace(stages, first=None)
        return failed + _explain_unscored(*rest, reranking, candidates)
    if len(scores) < candidates:
        return [f"reranking stopped at its deadline: {len(scores)} of {candidates} reranked"]
    wanted = min(reranking.first.keep, candidates) if stages.first and reranking.first else candidates
    if len(scores.last) < wanted:
        return [f"the last reranking stage reached the deadline: it scored {len(scores.last)} of {wanted} candidates"]
    return []
