"""The one path of a search: understand, encode, one round trip, fuse, fetch, rerank, group, page, explain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection, Reranking
from mappings.errors import InvalidInput, MedleyError, NotFound, Unavailable
from search.pipeline.context import Found, Parts, Trace, deadline
from search.pipeline.cursor import Cursor, verify
from search.pipeline.grouping import Group, by_field, group, sort_by
from search.pipeline.paging import MAX_DEPTH, Shown, frozen, marks_of, unseen
from search.pipeline.present import page
from search.pipeline.understanding import Understood, understand
from search.protocols import IndexMeta, LegsAnswer, LegsRequest, Vectors
from search.query import Query, Reranked, Results
from search.ranking import cascade
from search.ranking.cascade import Ranked, Scores, Stages, combine
from search.ranking.feedback import SECONDS, SHARE, again
from search.ranking.fusion import fuse

BENEATH = 2.0
"""What comes past the window stands below every stage's floor."""
EVIDENCE_SHARE = 0.2
"""Part of the deadline kept for choosing the evidence sentences with the cross-encoder."""


class Begun(NamedTuple):
    """What is known of a search before anything is asked."""

    meta: IndexMeta
    collection: Collection
    understood: Understood


def search(query: Query, parts: Parts) -> Results:
    """One page of answers to `query`.

    Raises `NotFound` for an unknown collection, `InvalidInput` for a filter, facet, sort or cursor that
    is not right, `Unavailable` when the engine is down. A missing model never raises: `degraded` says so.
    """
    trace = Trace()
    collection = parts.collection(query.collection)
    check_fields(query, collection)
    if query.cursor:
        previous = verify(query.cursor, query, parts.key, parts.settings.cursor_minutes)
        return _next_page(query, parts, collection, previous, trace)
    found = _find_published(query, parts, collection, trace)
    ranked, scored = _rerank(query, parts, found, trace)
    groups = _groups(query, parts, found, ranked, trace)
    return page(query, parts, found, groups, Shown(reranked=scored), trace)


def check_fields(query: Query, collection: Collection) -> None:
    """Raise `InvalidInput` for a filter, facet or sort by a field that the collection does not have."""
    wanted = [("filters", item.name) for item in query.filters] + [("facets", name) for name in query.facets]
    if query.sort != "relevance":
        wanted.append(("sort", query.sort.removeprefix("-")))
    for where, name in wanted:
        if name not in collection.fields:
            known = ", ".join(sorted(collection.fields)) or "none"
            raise InvalidInput(
                f"the collection {collection.name!r} has no field {name!r}; its fields are {known}", field=where
            )


def _find_published(query: Query, parts: Parts, collection: Collection, trace: Trace) -> Found:
    try:
        return _find(query, parts, collection, None, parts.settings.window, trace)
    except NotFound:
        # The index was dropped between the naming and the asking: by now the collection names its successor.
        trace.degraded.clear()
        return _find(query, parts, collection, None, parts.settings.window, trace)


def _find(query: Query, parts: Parts, collection: Collection, index: str | None, depth: int, trace: Trace) -> Found:
    meta = parts.engine.resolve(collection.name)
    if index and meta.index != index:
        meta = replace(meta, index=index)
    if meta.analysis != ANALYSIS_VERSION:
        trace.degraded.append(
            f"the index {meta.index} was built by another word analysis ({meta.analysis}, now {ANALYSIS_VERSION}): "
            "some words are missed until it is rebuilt"
        )
    understood = understand(query)
    trace.step("understand")
    vectors = _encode(understood.model_text, parts, meta, trace)
    trace.step("encode")
    request = LegsRequest(
        index=meta.index,
        lexical=understood.lexical,
        vectors=vectors,
        access=query.access,
        documents=depth,
        filters=query.filters,
        facets=query.facets,
    )
    begun = Begun(meta, collection, understood)
    if collection.feedback and vectors:
        found = _twice(query, request, begun, parts, trace)
    else:
        found = _asked(request, begun, parts, trace)
    trace.degraded += [f"the leg '{name}' is missing ({reason})" for name, reason in found.answer.missing.items()]
    return found


def _asked(request: LegsRequest, begun: Begun, parts: Parts, trace: Trace, feedback: tuple[str, ...] = ()) -> Found:
    # A query always has the same vectors, but for those that feedback moved.
    moved_to = b"".join(vector.tobytes() for vector in request.vectors.values()) if feedback else b""
    answer = _answer(request, begun.meta, (begun.understood, moved_to), parts)
    trace.step("legs")
    fused = fuse(answer.rankings, begun.collection.fusion)
    trace.step("fuse")
    full = any(len({item.document for item in ranking}) >= request.documents for ranking in answer.rankings.values())
    return Found(*begun, answer, fused, full, feedback)


def _twice(query: Query, request: LegsRequest, begun: Begun, parts: Parts, trace: Trace) -> Found:
    """What is found for the vectors as the best of a first answer move them; what the query alone finds where that fails.

    All legs are asked again, so that one answer is of one state of the index. The first answer is as deep for every page,
    so the same passages move each of them.
    """
    first = _asked(replace(request, documents=parts.settings.window), begun, parts, trace)
    try:
        moved, taken = _moved(query, request, first, parts, trace)
        found = _asked(moved, begun, parts, trace, taken)
        if not taken or not found.answer.missing:
            return found
        failure = "; ".join(f"{name}: {reason}" for name, reason in found.answer.missing.items())
    except NotFound:
        raise  # the index was dropped: its successor is asked
    except MedleyError as error:
        failure = error.message
        trace.step("feedback")
    trace.degraded.append(f"feedback failed ({failure}); the query alone was searched")
    return first if request.documents == parts.settings.window else _asked(request, begun, parts, trace)


def _moved(
    query: Query, request: LegsRequest, first: Found, parts: Parts, trace: Trace
) -> tuple[LegsRequest, tuple[str, ...]]:
    feedback = first.collection.feedback
    if feedback is None:
        return request, ()
    until = deadline(query, parts, first.collection, trace)
    left = SECONDS if until is None else min(SECONDS, SHARE * (until - time.perf_counter()))
    if left <= 0:
        raise Unavailable("the deadline had passed")
    marks = first.meta.encoders
    encoders = {name: encoder for name in request.vectors if (encoder := parts.encoder(marks[name])) is not None}
    if lost := sorted(request.vectors.keys() - encoders.keys()):
        raise Unavailable(f"the encoder for {lost[0]!r} is gone")
    found = again(parts.engine, request, first.fused, feedback, encoders, first.meta.windows, left)
    trace.step("feedback")
    return found


def _answer(request: LegsRequest, meta: IndexMeta, read: tuple[Understood, bytes], parts: Parts) -> LegsAnswer:
    """The engine's answer, or the one it gave before; one with a leg missing is not kept."""
    legs = tuple(request.vectors)
    asked = (request.filters, request.facets, request.documents)
    key = (meta.index, meta.commit, request.access.key, read, asked, legs)
    known = parts.answers.get(key)
    if known is not None:
        return known
    answer = parts.engine.legs(request)
    return answer if answer.missing else parts.answers.put(key, answer)


def _encode(text: str, parts: Parts, meta: IndexMeta, trace: Trace) -> dict[str, Vectors]:
    vectors = {}
    for name, fingerprint in meta.encoders.items():
        encoder = parts.encoder(fingerprint)
        if encoder is None:
            trace.degraded.append(
                f"no encoder for '{name}': the index was built by {fingerprint[:12]}, which is not among the models here; "
                "words alone were searched"
            )
            continue
        known = parts.vectors.get((fingerprint, text))
        try:
            vectors[name] = (
                known
                if known is not None
                else parts.vectors.put((fingerprint, text), encoder.encode_queries([text])[0])
            )
        except MedleyError as error:
            trace.degraded.append(f"the encoder for '{name}' failed ({error.message}); words alone were searched")
    return vectors


def _rerank(query: Query, parts: Parts, found: Found, trace: Trace) -> tuple[list[Ranked], Reranked]:
    reranking = found.collection.reranking
    window = found.fused[: parts.settings.candidates or reranking.candidates]
    if not query.rerank or not window:
        return combine(found.fused, Scores(), reranking), Reranked(0, 0)
    texts = parts.engine.passages(found.meta.index, [item.passage for item in window], query.access)
    trace.step("fetch")
    present = [item for item in found.fused if item.passage in texts or item not in window]
    window = [item for item in window if item.passage in texts]
    until = deadline(query, parts, found.collection, trace, 1 - EVIDENCE_SHARE)
    try:
        stages = parts.reranker(found.collection)
        if stages is None:
            return combine(present, Scores(), reranking), Reranked(0, 0)
        read = [texts[item.passage] for item in window]
        scores = cascade.read(stages, reranking, found.understood.model_text, window, read, until)
    except MedleyError as error:
        trace.degraded.append(f"the reranker failed ({error.message}); the fused order is shown")
        return combine(present, Scores(), reranking), Reranked(0, len(window))
    trace.step("rerank")
    trace.degraded += _unread(scores, stages, reranking, len(window))
    return combine(present, scores, reranking), Reranked(len(scores), len(window))


def _unread(scores: Scores, stages: Stages, reranking: Reranking, candidates: int) -> list[str]:
    """What failed, and what the deadline left out, in words."""
    if scores.missing:
        lost = [f"the first stage of reranking is missing ({scores.missing}); the last one read alone"]
        return lost + _unread(replace(scores, missing=""), replace(stages, first=None), reranking, candidates)
    if len(scores) < candidates:
        return [f"the reranker passed its deadline: {len(scores)} of {candidates} reranked"]
    wanted = min(reranking.first.keep, candidates) if stages.first and reranking.first else candidates
    if len(scores.last) < wanted:
        return [f"the reranker's last stage passed its deadline: it read {len(scores.last)} of {wanted}"]
    return []


def _groups(query: Query, parts: Parts, found: Found, ranked: Sequence[Ranked], trace: Trace) -> list[Group]:
    name = found.collection.group_by
    if name == "document" and query.sort == "relevance":
        return group(ranked, lambda document: document)
    documents = list(dict.fromkeys(item.fused.document for item in ranked))
    fields = parts.engine.fields(found.meta.index, documents, query.access)
    groups = by_field(ranked, name, fields)
    trace.step("group")
    return groups if query.sort == "relevance" else sort_by(query.sort, groups, fields)


def _next_page(query: Query, parts: Parts, collection: Collection, previous: Cursor, trace: Trace) -> Results:
    beyond = previous.beyond or len(previous.items) < query.size
    depth = min(MAX_DEPTH, parts.settings.window + len(previous.shown)) if beyond else parts.settings.window
    try:
        found = _find(query, parts, collection, previous.index, depth, trace)
    except NotFound:
        raise InvalidInput(
            "the index of this cursor is gone: search again from the first page", field="cursor"
        ) from None
    groups = frozen(found, previous)
    if beyond:
        # Past the window nothing is reranked: the fused order goes on, below everything that was.
        ranked = [Ranked(item, item.score - BENEATH, below=BENEATH) for item in found.fused]
        groups += unseen(_groups(query, parts, found, ranked, trace), (*previous.shown, *marks_of(groups)))
    return page(query, parts, found, groups, Shown(previous.shown, beyond), trace)
