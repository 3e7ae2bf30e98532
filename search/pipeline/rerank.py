"""The second stage of a search: cross-encoders read the best candidates until the deadline."""

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
"""Share of the deadline that is kept for choosing evidence sentences with the cross-encoder."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What reranking hands to presentation: candidates in final order, and how many of them were scored."""

    candidates: Sequence[Candidate]
    coverage: RerankCoverage


def rerank(query: Query, retrieved: Retrieved, services: SearchServices, trace: Trace) -> Reranked:
    """The candidates in final order; those beyond the rerank window, or that no stage scored, stand below.

    Never raises for a missing or failing model: the fused order stays, and `trace.degraded` says why.
    """
    candidates, reranking = retrieved.candidates, retrieved.collection.reranking
    if not query.rerank or not candidates:
        return Reranked(candidates, RerankCoverage(0, 0))
    window, present = existing(retrieved, rerank_window(retrieved, services))
    trace.step("fetch")
    until = rerank_deadline(query, services, retrieved.collection, trace, 1 - EVIDENCE_SHARE)
    try:
        stages = services.reranker(retrieved.collection)
        if stages is None:
            return Reranked(present, RerankCoverage(0, 0))
        scores = score(retrieved, window, stages, reranking, until)
    except MedleyError as error:
        trace.degraded.append(f"the reranker failed ({error.message}); the fused order is shown")
        return Reranked(present, RerankCoverage(0, len(window)))
    trace.step("rerank")
    trace.degraded += _explain_unscored(scores, stages, reranking, len(window))
    return Reranked(combine(present, scores, reranking), RerankCoverage(len(scores), len(window)))


def rerank_window(retrieved: Retrieved, services: SearchServices) -> Sequence[Candidate]:
    """The best candidates of the fused order, as many as are reranked."""
    return retrieved.candidates[: services.settings.candidates or retrieved.collection.reranking.candidates]


def existing(retrieved: Retrieved, window: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """(window, all candidates) without those of the window that are gone by now, or not the caller's to see."""
    texts = retrieved.contents.passages([item.passage for item in window])
    gone = {item.passage for item in window} - texts.keys()
    return (
        [item for item in window if item.passage not in gone],
        [item for item in retrieved.candidates if item.passage not in gone],
    )


def score(
    retrieved: Retrieved,
    window: Sequence[Candidate],
    stages: RerankStages,
    reranking: Reranking,
    until: float | None = None,
) -> StageScores:
    """Logits of the window's candidates, as far as the stages get until the moment `until`; without it, of all."""
    texts = retrieved.contents.passages([item.passage for item in window])
    passages = [texts[item.passage] for item in window]
    return score_window(stages, reranking, retrieved.understanding.model_text, window, passages, until)


def _explain_unscored(scores: StageScores, stages: RerankStages, reranking: Reranking, candidates: int) -> list[str]:
    """In words, which stage failed, and what the deadline left unscored."""
    if scores.missing:
        lost = [f"the first stage of reranking is missing ({scores.missing}); the last one read alone"]
        rest = replace(scores, missing=""), replace(stages, first=None)
        return lost + _explain_unscored(*rest, reranking, candidates)
    if len(scores) < candidates:
        return [f"the reranker passed its deadline: {len(scores)} of {candidates} reranked"]
    wanted = min(reranking.first.keep, candidates) if stages.first and reranking.first else candidates
    if len(scores.last) < wanted:
        return [f"the reranker's last stage passed its deadline: it read {len(scores.last)} of {wanted}"]
    return []
