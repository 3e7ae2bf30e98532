"""The first stage of a search: understand the query, encode it, ask every leg in one round trip, and fuse their rankings.

Where the collection uses feedback, the best passages of a first answer move the query's vectors, and all legs are asked
again. Product, evaluation and benches call `retrieve`; there is no other way to a ranking.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection, Feedback
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import MedleyError, NotFound, Unavailable
from search.pipeline.results import Understanding
from search.pipeline.services import SearchServices, Trace, rerank_deadline
from search.pipeline.understanding import understand
from search.protocols import Encoder, IndexMeta, LegsAnswer, LegsRequest, SearchEngine, Vectors
from search.query import Query
from search.ranking.candidates import Candidate
from search.ranking.feedback import SECONDS, SHARE, move_query
from search.ranking.fusion import fuse


class Contents:
    """Texts and fields in one index that one caller may see; each is fetched from the engine at most once a search."""

    def __init__(self, engine: SearchEngine, index: str, access: Access) -> None:
        self._engine, self._index, self._access = engine, index, access
        self._passages: dict[str, Passage | None] = {}
        self._fields: dict[str, Mapping[str, FieldValue] | None] = {}

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """The passages of `ids` that exist and that the caller may see."""
        if missing := [name for name in ids if name not in self._passages]:
            found = self._engine.passages(self._index, missing, self._access)
            self._passages.update({name: found.get(name) for name in missing})
        return {name: passage for name in ids if (passage := self._passages[name]) is not None}

    def fields(self, documents: Sequence[str]) -> dict[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        if missing := [name for name in documents if name not in self._fields]:
            found = self._engine.fields(self._index, missing, self._access)
            self._fields.update({name: found.get(name) for name in missing})
        return {name: fields for name in documents if (fields := self._fields[name]) is not None}


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval hands to reranking.

    `candidates` are in fused order. `has_more`: some leg returned as many documents as it was asked for. `feedback` names
    the passages that moved the query's vectors, if any did. `contents` fetches texts and fields.
    """

    meta: IndexMeta
    collection: Collection
    understanding: Understanding
    answer: LegsAnswer
    candidates: Sequence[Candidate]
    has_more: bool
    contents: Contents
    feedback: tuple[str, ...] = ()


class _Context(NamedTuple):
    """What is fixed once a search has chosen its index."""

    query: Query
    services: SearchServices
    trace: Trace
    meta: IndexMeta
    collection: Collection
    understanding: Understanding
    contents: Contents


def retrieve(
    query: Query,
    services: SearchServices,
    trace: Trace,
    collection: Collection,
    index: str | None = None,
    depth: int | None = None,
) -> Retrieved:
    """All candidates of `query` in fused order.

    `collection` decides fusion, feedback and reranking. The published index is searched, or `index` with its own encoders
    and commit. `depth` is the number of distinct documents that each leg returns, by default the result window of the
    settings. Raises `NotFound` for an index that does not exist, `Unavailable` if the engine is down. A missing encoder
    never raises: `trace.degraded` says so.
    """
    meta = services.engine.resolve(collection.name) if index is None else services.engine.meta(index)
    if meta.analysis != ANALYSIS_VERSION:
        trace.degraded.append(
            f"the index {meta.index} was built with another word analysis ({meta.analysis}, now {ANALYSIS_VERSION}): "
            "some words are missed until it is rebuilt"
        )
    understanding = understand(query)
    trace.step("understand")
    vectors = encode_query(understanding.model_text, services, meta, trace)
    trace.step("encode")
    request = LegsRequest(
        index=meta.index,
        lexical=understanding.lexical,
        vectors=vectors,
        access=query.access,
        documents=services.settings.window if depth is None else depth,
        filters=query.filters,
        facets=query.facets,
    )
    contents = Contents(services.engine, meta.index, query.access)
    context = _Context(query, services, trace, meta, collection, understanding, contents)
    retrieved = _with_feedback(request, context) if collection.feedback and vectors else _ask_legs(request, context)
    trace.degraded += [f"the leg '{name}' is missing ({reason})" for name, reason in retrieved.answer.missing.items()]
    return retrieved


def encode_query(text: str, services: SearchServices, meta: IndexMeta, trace: Trace) -> dict[str, Vectors]:
    """Vector field -> the unit vector of `text`, shape (d,), by the encoder that filled the field; cached."""
    vectors = {}
    for name, fingerprint in meta.encoders.items():
        encoder = services.encoder(fingerprint)
        if encoder is None:
            trace.degraded.append(
                f"no encoder for '{name}': the index was built with {fingerprint[:12]}, which is not among the installed "
                "models; only words were searched"
            )
            continue
        known = services.vectors.get((fingerprint, text))
        try:
            vectors[name] = (
                known
                if known is not None
                else services.vectors.put((fingerprint, text), encoder.encode_queries([text])[0])
            )
        except MedleyError as error:
            trace.degraded.append(f"the encoder for '{name}' failed ({error.message}); only words were searched")
    return vectors


def _ask_legs(request: LegsRequest, context: _Context, feedback: tuple[str, ...] = ()) -> Retrieved:
    # A query always has the same vectors, except those that feedback moved.
    moved = b"".join(vector.tobytes() for vector in request.vectors.values()) if feedback else b""
    answer = _cached_answer(request, context, moved)
    context.trace.step("legs")
    candidates = fuse(answer.rankings, context.collection.fusion)
    context.trace.step("fuse")
    has_more = any(
        len({item.document for item in ranking}) >= request.documents for ranking in answer.rankings.values()
    )
    return Retrieved(
        context.meta,
        context.collection,
        context.understanding,
        answer,
        candidates,
        has_more,
        context.contents,
        feedback,
    )


def _cached_answer(request: LegsRequest, context: _Context, moved: bytes) -> LegsAnswer:
    """The engine's answer, or its earlier one to the same request; an answer with a missing leg is not cached."""
    meta, answers = context.meta, context.services.answers
    asked = (request.filters, request.facets, request.documents, tuple(request.vectors))
    key = (meta.index, meta.commit, request.access.key, context.understanding, moved, asked)
    known = answers.get(key)
    if known is not None:
        return known
    answer = context.services.engine.legs(request)
    return answer if answer.missing else answers.put(key, answer)


def _with_feedback(request: LegsRequest, context: _Context) -> Retrieved:
    """The answer to the moved vectors, or the answer to the query alone if feedback fails.

    All legs are asked again, so that one answer shows one state of the index. The first answer is equally deep for every
    page, so the same passages move each of them.
    """
    trace, window = context.trace, context.services.settings.window
    first = _ask_legs(replace(request, documents=window), context)
    try:
        moved, taken = _move_vectors(request, first, context)
        second = _ask_legs(moved, context, taken)
        if not taken or not second.answer.missing:
            return second
        failure = "; ".join(f"{name}: {reason}" for name, reason in second.answer.missing.items())
    except NotFound:
        raise  # the index was dropped: its successor is searched
    except MedleyError as error:
        failure = error.message
        trace.step("feedback")
    trace.degraded.append(f"feedback failed ({failure}); the query alone was searched")
    return first if request.documents == window else _ask_legs(request, context)


def _move_vectors(request: LegsRequest, first: Retrieved, context: _Context) -> tuple[LegsRequest, tuple[str, ...]]:
    feedback = context.collection.feedback
    if feedback is None:
        return request, ()
    until = rerank_deadline(context.query, context.services, context.collection, context.trace)
    seconds = SECONDS if until is None else min(SECONDS, SHARE * (until - time.perf_counter()))
    if seconds <= 0:
        raise Unavailable("the deadline had passed")
    passages = _best_passages(first, feedback)
    moved = move_query(request, passages, feedback, _encoders(request, context), context.meta.windows, seconds)
    context.trace.step("feedback")
    return moved, tuple(passage.id for passage in passages)


def _best_passages(first: Retrieved, feedback: Feedback) -> list[Passage]:
    """The best passages of the first answer that still exist, best first."""
    return list(first.contents.passages([item.passage for item in first.candidates[: feedback.passages]]).values())


def _encoders(request: LegsRequest, context: _Context) -> dict[str, Encoder]:
    """Vector field -> its encoder, for every vector of the request."""
    fingerprints = context.meta.encoders
    found = {name: encoder for name in request.vectors if (encoder := context.services.encoder(fingerprints[name]))}
    if lost := sorted(request.vectors.keys() - found.keys()):
        raise Unavailable(f"the encoder for {lost[0]!r} is gone")
    return found
