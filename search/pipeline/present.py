"""The last step of a search: groups, one page of hits with their evidence and explanations, and the next cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mappings.documents import Passage
from mappings.stances import StanceReading
from mappings.studies.description import work_of
from search.pipeline import evidence
from search.pipeline.checks import RELEVANCE
from search.pipeline.explanation import explain, with_curves
from search.pipeline.freshness import find_withheld, keep_newest
from search.pipeline.grouping import Group, by_field, fold, group, sort_by
from search.pipeline.lookup import can_miss_words, meanings_of, missing_words
from search.pipeline.paging.cursor import Cursor
from search.pipeline.paging.progress import PageProgress, marks_of, next_cursor, score_below, thaw, unseen
from search.pipeline.reading import choose_sentences, is_claim, read_stances, with_probabilities
from search.pipeline.rerank import Reranked
from search.pipeline.results import Evidence, Hit, HitStance, Proof, RerankCoverage, Results
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import SearchServices, Trace
from search.protocols import BM25
from search.query import Query
from search.ranking.answers import RIVALS, AnswerSigns, signs_of
from search.ranking.candidates import Candidate

FOLDED = 30
"""Among how many leading passages versions of one work are looked for: those that are read for reranking anyway. Where
nothing is reranked, those of the page."""


class Shown(NamedTuple):
    """What a page shows of a hit, as it was read in its passage."""

    passage: Passage
    sentences: tuple[Evidence, ...]
    reading: StanceReading | None
    signs: AnswerSigns | None
    proofs: tuple[Proof | None, ...]


def present_first(
    query: Query, retrieved: Retrieved, reranked: Reranked, services: SearchServices, trace: Trace
) -> Results:
    """The first page of an answer. A passage that no longer exists, or that the caller may not see, is left out."""
    groups = _groups(query, retrieved, reranked.candidates, trace)
    return _page(query, retrieved, groups, PageProgress(), reranked.coverage, services, trace)


def present_next(
    query: Query, retrieved: Retrieved, previous: Cursor, services: SearchServices, trace: Trace
) -> Results:
    """A later page: the hits frozen in `previous`, then, beyond the result window, candidates in fused order."""
    beyond = leaves_window(query, previous)
    groups = thaw(retrieved, previous)
    if beyond:
        least = min((previous.least, *(item.score for item in previous.items)))
        further = unseen(_groups(query, retrieved, retrieved.candidates, trace), (*previous.shown, *marks_of(groups)))
        groups += score_below(further, least)
    progress = PageProgress(previous.shown, beyond, previous.least)
    return _page(query, retrieved, groups, progress, RerankCoverage(), services, trace)


def leaves_window(query: Query, previous: Cursor) -> bool:
    """Whether the page after `previous` needs more than the frozen result window holds."""
    return previous.beyond or len(previous.items) < query.size


def _groups(query: Query, retrieved: Retrieved, ranked: Sequence[Candidate], trace: Trace) -> list[Group]:
    name = retrieved.collection.group_by
    if name == "document" and query.sort == RELEVANCE:
        groups = group(ranked, lambda document: document)
        return fold(groups, _works(query, retrieved, ranked)) if retrieved.collection.studies else groups
    fields = retrieved.contents.fields(list(dict.fromkeys(item.document for item in ranked)))
    groups = by_field(ranked, name, fields)
    trace.step("group")
    return groups if query.sort == RELEVANCE else sort_by(query.sort, groups, fields)


def _works(query: Query, retrieved: Retrieved, ranked: Sequence[Candidate]) -> Mapping[str, str]:
    """The leading documents whose title is that of a work, with its key."""
    found = retrieved.contents.passages([item.passage for item in ranked[: FOLDED if query.rerank else query.size]])
    named = ((passage.document, work_of(passage.title)) for passage in found.values())
    return {document: work for document, work in named if work}


def _page(
    query: Query,
    retrieved: Retrieved,
    groups: Sequence[Group],
    progress: PageProgress,
    coverage: RerankCoverage,
    services: SearchServices,
    trace: Trace,
) -> Results:
    first, rest = groups[: query.size], groups[query.size :]
    texts = retrieved.contents.passages([item.best.passage for item in first])
    visible = [item for item in first if item.best.passage in texts]
    retrieved.contents.fields([item.best.document for item in visible])  # fetched together, for `_hit` to read
    trace.step("fetch")
    passages = [texts[item.best.passage] for item in visible]
    # An answer that no stage had time for is not remembered: see `rerank`.
    remember = bool(coverage.scored or not coverage.candidates)
    readings = read_stances(query, retrieved, passages, services, trace)
    trace.step("stance")
    sentences = choose_sentences(query, retrieved, passages, readings, services, trace, remember)
    trace.step("evidence")
    proofs = _proofs(query, retrieved, passages, services)
    can_tell = not progress.marks and coverage.closely >= min(coverage.wanted, RIVALS + 1)
    signs = _signs(query, retrieved, groups, passages, readings, can_tell)
    shown = zip(passages, sentences, readings, signs, strict=True)
    content = {found[0].id: Shown(*found, proofs.get(found[0].document, ())) for found in shown}
    missing = () if progress.marks else _missing(query, retrieved, passages, services)
    # Last of all: what was replaced or deleted while we searched is not shown either.
    newest = keep_newest(visible, services, retrieved.meta.collection)
    left = [_hit(query, retrieved, item, content[item.best.passage]) for item in newest]
    trace.step("check")
    told, probability = with_probabilities(left, retrieved.collection, services.settings)
    return Results(
        hits=with_curves(told, retrieved, services),
        total=retrieved.answer.total,
        facets=retrieved.answer.facets,
        timings_ms=trace.finish(),
        reranked=coverage,
        understood=retrieved.understanding,
        degraded=tuple(trace.degraded),
        partial=tuple(trace.partial),
        cursor=next_cursor(query, retrieved, first, rest, progress, services.key),
        index=retrieved.meta.index,
        beyond_window=progress.beyond,
        feedback=retrieved.feedback,
        missing=missing,
        probability=probability,
    )


def _signs(
    query: Query,
    retrieved: Retrieved,
    groups: Sequence[Group],
    passages: Sequence[Passage],
    readings: Sequence[StanceReading | None],
    can_tell: bool,
) -> list[AnswerSigns | None]:
    """What tells of each hit whether it answers; None where nothing can, or the query is no claim or question."""
    if not (can_tell and is_claim(query, retrieved)):
        return [None] * len(passages)
    best = {item.best.passage: item.best for item in groups}
    shown = [best[passage.id] for passage in passages]
    return signs_of(shown, passages, readings, list(best.values()), retrieved.understanding.model_text)


def _missing(
    query: Query, retrieved: Retrieved, passages: Sequence[Passage], services: SearchServices
) -> tuple[str, ...]:
    """The words of the query that no document has; what is withheld is asked only where words can be missing."""
    if not can_miss_words(query, retrieved.meta):
        return ()
    withheld = find_withheld(services, retrieved.meta, Trace()).documents
    return missing_words(query, retrieved.understanding, retrieved.meta, passages, services.engine, withheld)


def _proofs(
    query: Query, retrieved: Retrieved, passages: Sequence[Passage], services: SearchServices
) -> Mapping[str, tuple[Proof | None, ...]]:
    criteria, reader = retrieved.understanding.proven, services.reader(retrieved.collection)
    if reader is None or not criteria:
        return {}
    return evidence.find_proofs(services.engine, retrieved.meta.index, passages, criteria, reader.lexicon, query.access)


def _hit(
    query: Query,
    retrieved: Retrieved,
    found: Group,
    shown: Shown,
) -> Hit:
    terms, passage, reading = retrieved.understanding.terms, shown.passage, shown.reading
    return Hit(
        document=passage.document,
        passage=passage.id,
        score=found.best.score,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        evidence=shown.sentences,
        title_marks=evidence.marks(passage.title, terms),
        fields=retrieved.contents.fields([passage.document]).get(passage.document, {}),
        lexical=BM25 in found.best.contributions,
        more_passages=sum(other.document == passage.document for other in found.others),
        others=tuple(name for name in found.documents if name != passage.document),
        meanings=meanings_of(passage, retrieved.understanding),
        proofs=shown.proofs,
        stance=HitStance(reading.stance, reading.probability) if reading else None,
        signs=shown.signs,
        explain=explain(found.best, _matched(passage, terms), query.access) if query.explain else None,
    )


def _matched(passage: Passage, terms: frozenset[str]) -> list[str]:
    text = f"{passage.title}\n{passage.heading}\n{passage.text}"
    return sorted({text[span.start : span.end].lower() for span in evidence.marks(text, terms)})
