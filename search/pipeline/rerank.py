"""The reranking step of a search: rerankers score the best candidates until the deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mappings.documents import Passage
from mappings.errors import MedleyError
from mappings.stages import Reranking
from search.memory.scores import Scores
from search.pipeline.grouping import group_key
from search.pipeline.results import RerankCoverage
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import SearchServices, Trace, rerank_deadline, rerank_milliseconds
from search.query import Query
from search.ranking.candidates import Candidate
from search.ranking.cascade import RerankStages, StageScores, combine, score_window
from search.ranking.wording import Wording

EVIDENCE_SHARE = 0.2
"""The share of the deadline that is reserved for choosing evidence sentences with the cross-encoder."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What reranking hands to presentation: the candidates in final order, and how many of them were scored."""

    candidates: Sequence[Candidate]
    coverage: RerankCoverage


def rerank(query: Query, retrieved: Retrieved, services: SearchServices, trace: Trace) -> Reranked:
    """The candidates in final order; those beyond the rerank window, and those that no stage scored, rank below the others.

    A missing or failing model never raises: the fused order stays, and `trace.degraded` says why; `trace.partial` says what
    the deadline left unscored.
    """
    candidates, reranking = retrieved.candidates, retrieved.collection.reranking
    if not query.rerank or not candidates:
        return Reranked(candidates, RerankCoverage())
    window, visible = drop_inaccessible(retrieved, rerank_window(retrieved, services))
    trace.step("fetch")
    try:
        stages = services.reranker(retrieved.collection)
        if stages is None:
            return Reranked(visible, RerankCoverage())
        scores = _score_once(query, retrieved, window, stages, services, trace)
    except MedleyError as error:
        trace.degraded.append(f"the reranker failed ({error.message}); the fused order is shown")
        return Reranked(visible, RerankCoverage(0, len(window)))
    trace.step("rerank")
    if scores.missing:
        trace.degraded.append(f"the first reranking stage failed ({scores.missing}); only the last stage ran")
    coverage = RerankCoverage(len(scores), len(window), len(scores.last), scores.wanted[0])
    if coverage.is_partial:
        trace.partial.append(f"ranked by a quick look: {coverage.in_words}")
    return Reranked(combine(visible, scores, reranking), coverage)


def _score_once(
    query: Query,
    retrieved: Retrieved,
    window: Sequence[Candidate],
    stages: RerankStages,
    services: SearchServices,
    trace: Trace,
) -> StageScores:
    """What the stages score until the deadline, or what they scored when the same was asked before.

    So a deadline leaves one order, though a machine reads more passages when it is idle, and those that it has read before
    at once. Not remembered is what a failure cut short, or what left no time at all, such as a model that was just loaded.
    """
    collection, meta, understood = retrieved.collection, retrieved.meta, retrieved.understanding
    milliseconds = rerank_milliseconds(query, services, collection)
    models = [stage.reranker.fingerprint for stage in (stages.last, stages.first) if stage]
    asked = (query.access.key, understood.model_text, understood.names, query.size, milliseconds, collection.reranking)
    names = [item.passage for item in window]
    key = ("passages", meta.index, meta.commit, *models, *asked, *names, *(item.tier for item in window))
    known = services.scores.get(key)
    if known is not None:
        return _recall(known, names)
    until = rerank_deadline(query, services, collection, trace, 1 - EVIDENCE_SHARE)
    shown = partial(passages_shown, query.size, retrieved)
    scores = score_window_candidates(retrieved, window, stages, collection.reranking, until, shown)
    if not scores or scores.missing:
        return scores
    found = [[each.get(name) for name in names] for each in (scores.last, scores.first)]
    return _recall(services.scores.keep(key, [*found, scores.wanted]), names)


def _recall(known: Scores, names: Sequence[str]) -> StageScores:
    """What the stages scored of the passages `names`, as it was remembered."""
    last, first = (
        {name: score for name, score in zip(names, each, strict=True) if score is not None} for each in known[:2]
    )
    closely, candidates = (int(number or 0) for number in known[2])
    return StageScores(last, first, wanted=(closely, candidates))


def wording(retrieved: Retrieved) -> Wording:
    """What the models read of the query, and the other names of what it names."""
    return Wording(retrieved.understanding.model_text, retrieved.understanding.names)


def passages_shown(size: int, retrieved: Retrieved, best: Sequence[Candidate]) -> int:
    """How many of the `best` candidates it takes for a page of `size` documents, or groups of documents."""
    name = retrieved.collection.group_by
    documents = list(dict.fromkeys(item.document for item in best))
    fields = {} if name == "document" else retrieved.contents.fields(documents)
    groups: set[str] = set()
    for number, item in enumerate(best, 1):
        groups.add(group_key(fields, name, item.document))
        if len(groups) == size:
            return number
    return len(best)


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
    shown: Callable[[Sequence[Candidate]], int] | None = None,
) -> StageScores:
    """Logits of the window's candidates that the stages scored before the moment `until`; see `score_window`."""
    texts = retrieved.contents.passages([item.passage for item in window])
    passages = [texts[item.passage] for item in window]
    stages = with_stored_tokens(stages, retrieved, passages)
    return score_window(stages, reranking, wording(retrieved), window, passages, until, shown)


def with_stored_tokens(stages: RerankStages, retrieved: Retrieved, passages: Sequence[Passage]) -> RerankStages:
    """The stages, of which a poly-encoder need not read the passages of which the index stores its token vectors.

    Those of another model, or of an earlier one, are not asked for: then the model reads the passages, as without any.
    """
    tokens = retrieved.meta.tokens
    own = [stage for stage in (stages.last, stages.first) if stage and stage.reads(tokens)]
    if tokens is None or not own:
        return stages
    texts = {passage.id: passage.model_text for passage in passages}
    stored = {texts[name]: content for name, content in retrieved.contents.tokens(list(texts)).items()}
    last, first = (stage.over(stored) if stage in own else stage for stage in (stages.last, stages.first))
    return replace(stages, last=last or stages.last, first=first)
