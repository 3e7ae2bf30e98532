"""The retrieval step of a search: understand the query, encode it while words are searched, run all legs, fuse their rankings.

Where the collection uses feedback, the best passages of a first answer move the query's vectors, and all legs run again.
Product, evaluation and benches all call `retrieve`: nothing else produces rankings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mappings.clinical.reading import ConceptReader
from mappings.collection import DISCOURSE, Collection
from mappings.errors import MedleyError, NotFound, Unavailable
from search.discourse.leg import asked_slots, encode_slots
from search.pipeline import lookup
from search.pipeline.freshness import describe_shortcomings, find_withheld, only_newest, without_counts
from search.pipeline.services import Contents, SearchServices, Trace, rerank_deadline
from search.protocols import Encoder, IndexMeta, LegsAnswer, LegsRequest, Vectors
from search.query import Query
from search.ranking.candidates import Candidate
from search.ranking.feedback import FEEDBACK_DEADLINE_SHARE, FEEDBACK_SECONDS, move_query
from search.ranking.fusion import fuse
from search.understanding.criteria import Criterion
from search.understanding.given_vectors import given_vectors
from search.understanding.query_vectors import LaterVectors, encode_text, find_encoders, vectors_key
from search.understanding.slots import QuerySlots
from search.understanding.understand import Understanding, understand


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval hands to reranking.

    `candidates` are in fused order. `has_more`: a leg returned as many documents as requested, so there may be more.
    `feedback` names the passages that moved the query's vectors, if any did. `slots` are those that the leg `discourse` was
    asked by; None where it was not. `contents` fetches passages and fields.
    """

    meta: IndexMeta
    collection: Collection
    understanding: Understanding
    answer: LegsAnswer
    candidates: Sequence[Candidate]
    has_more: bool
    contents: Contents
    feedback: tuple[str, ...] = ()
    slots: QuerySlots | None = None


class _AskedVectors(NamedTuple):
    """The vectors of a query: those that its text does not determine are `given`, `encoded` are the fields of the others.

    `slots` are those that the leg `discourse` is asked by; None where it is not.
    """

    vectors: Mapping[str, Vectors]
    given: Mapping[str, Vectors]
    encoded: tuple[str, ...]
    slots: QuerySlots | None


class _Context(NamedTuple):
    """What stays the same once a search has chosen its index."""

    query: Query
    services: SearchServices
    trace: Trace
    meta: IndexMeta
    collection: Collection
    understanding: Understanding
    contents: Contents
    asked: _AskedVectors


def retrieve(
    query: Query,
    services: SearchServices,
    trace: Trace,
    collection: Collection,
    index: str | None = None,
    depth: int | None = None,
) -> Retrieved:
    """All candidates of `query` in fused order; of a text whose names no document has together, those by its words.

    `collection` determines fusion, feedback and reranking. The published index is searched, or else `index`, with its own
    encoders and commit. `depth` is the number of distinct documents that each leg returns, by default the result window of
    the settings. Raises `NotFound` for an index that does not exist, `Unavailable` if the engine is down. A missing encoder
    never raises: `trace.degraded` says so.
    """
    found = _retrieve(query, services, trace, collection, index, depth)
    if found.candidates or not found.understanding.has_only_names:
        return found
    trace.degraded.clear()
    plain = _retrieve(replace(query, plain=True), services, trace, collection, index, depth)
    notes = (*plain.understanding.notes, lookup.NAMES_APART)
    return replace(plain, understanding=replace(plain.understanding, notes=notes))


def _retrieve(
    query: Query, services: SearchServices, trace: Trace, collection: Collection, index: str | None, depth: int | None
) -> Retrieved:
    meta = services.engine.resolve(collection.name) if index is None else services.engine.meta(index)
    reader = services.reader(collection)
    trace.degraded += describe_shortcomings(meta, reader, bool(query.having or query.lacking))
    reader = reader if meta.reading else None
    understanding = understand(query, collection.fields, reader, collection.reads_queries, collection.name_weight)
    trace.step("understand")
    asked = _ask_vectors(query, services, trace, collection, meta, reader, understanding.model_text)
    withheld = find_withheld(services, meta, trace)
    request = LegsRequest(
        index=meta.index,
        lexical=understanding.lexical,
        vectors=asked.vectors,
        access=query.access,
        documents=services.settings.window if depth is None else depth,
        filters=(*query.filters, *understanding.filters),
        facets=query.facets,
        withheld=withheld.documents,
    )
    contents = Contents(services.engine, meta.index, query.access)
    context = _Context(query, services, trace, meta, collection, understanding, contents, asked)
    moved_by_feedback = collection.feedback is not None and bool(asked.encoded) and not query.vectors
    retrieved = _run_with_feedback(request, context) if moved_by_feedback else _run_legs(request, context)
    retrieved = replace(retrieved, slots=asked.slots)
    trace.degraded += [f"the leg '{name}' failed ({reason})" for name, reason in retrieved.answer.missing.items()]
    if withheld.complete:
        return retrieved
    newest = only_newest(retrieved.candidates, services, meta.collection)
    return replace(retrieved, candidates=newest, answer=without_counts(retrieved.answer))


def _ask_vectors(
    query: Query,
    services: SearchServices,
    trace: Trace,
    collection: Collection,
    meta: IndexMeta,
    reader: ConceptReader | None,
    text: str,
) -> _AskedVectors:
    """The vectors of a query: its own, those of its slots, and that of `text`, which is encoded when an engine asks for it."""
    own = given_vectors(query, meta)
    encoders = find_encoders(meta, services.encoder, own, trace.degraded) if text else {}
    slots = asked_slots(query, collection, meta, reader)
    whole = encode_slots(slots, meta, services.discourse, services.vectors, trace.degraded) if slots else {}
    trace.step("encode")

    def encode() -> Mapping[str, Vectors]:
        trace.step("legs")
        encoded = encode_text(text, encoders, meta, services.vectors, trace.degraded)
        trace.step("encode")
        return {**own, **encoded, **whole}

    given = {**own, **whole}
    return _AskedVectors(LaterVectors(encode) if encoders else given, given, tuple(encoders), slots if whole else None)


def _run_legs(request: LegsRequest, context: _Context, feedback: tuple[str, ...] = ()) -> Retrieved:
    # The cache key needs those vectors alone that the understanding of the query does not determine.
    own = vectors_key(request.vectors if feedback else context.asked.given)
    answer = lookup.with_holders(_cached_answer(request, context, own))
    context.trace.step("legs")
    candidates, understanding = _rank(answer, context)
    context.trace.step("fuse")
    has_more = any(
        len({item.document for item in ranking}) >= request.documents for ranking in answer.rankings.values()
    )
    return Retrieved(
        context.meta, context.collection, understanding, answer, candidates, has_more, context.contents, feedback
    )


def _rank(answer: LegsAnswer, context: _Context) -> tuple[Sequence[Candidate], Understanding]:
    """The candidates in fused order, those that hold a short query first; and the understanding, noting if none does."""
    understanding, lexical = context.understanding, context.understanding.lexical
    candidates: Sequence[Candidate] = fuse(answer.rankings, context.collection.fusion)
    if not candidates and understanding.filters:
        note = lookup.nothing_passes(understanding)
        return candidates, replace(understanding, notes=(*understanding.notes, note))
    if understanding.criteria:
        return _arranged(lookup.by_doubt, candidates, understanding.criteria, context), understanding
    held: frozenset[str] = frozenset()
    if lexical.wanted or lexical.named:
        held = lookup.genuine(
            answer, understanding, context.contents.passages([item.passage for item in answer.holders])
        )
    tiered = lookup.by_tier(candidates, held, lexical.required, _in_asked_sections(candidates, held, context))
    ranked = _titled_first(_arranged(lookup.by_preference, tiered, understanding.preferences, context), context)
    nameless = not held and (understanding.asked or lexical.required)
    if nameless and ranked and not _asserts(ranked[0], context):
        understanding = replace(understanding, notes=(*understanding.notes, lookup.nobody_holds(understanding)))
    return ranked, understanding


def _asserts(candidate: Candidate, context: _Context) -> bool:
    """Whether a passage asserts what is preferred, perhaps under another name."""
    reader, preferences = context.services.reader(context.collection), context.understanding.preferences
    if reader is None or not preferences:
        return False
    passage = context.contents.passages([candidate.passage]).get(candidate.passage)
    return passage is not None and lookup.asserts(passage, preferences, reader.lexicon)


def _arranged(
    arrange: lookup.Arrangement, candidates: Sequence[Candidate], wanted: Sequence[Criterion], context: _Context
) -> Sequence[Candidate]:
    """The candidates as `arrange` puts them by what their passages assert of what is `wanted`, if anything is."""
    reader = context.services.reader(context.collection)
    if reader is None or not wanted:
        return candidates
    passages = context.contents.passages([item.passage for item in candidates])
    return arrange([item for item in candidates if item.passage in passages], passages, wanted, reader.lexicon)


def _titled_first(candidates: Sequence[Candidate], context: _Context) -> Sequence[Candidate]:
    """The candidates as they are, but a document whose title is the query comes before what is preferred."""
    if not context.understanding.preferences:
        return candidates
    passages = context.contents.passages([item.passage for item in candidates])
    return lookup.by_title(candidates, passages, context.query.text)


def _in_asked_sections(candidates: Sequence[Candidate], held: frozenset[str], context: _Context) -> frozenset[str]:
    """The passages of the candidates whose sections are asked for."""
    if not context.understanding.aspects:
        return frozenset()
    passages = context.contents.passages([item.passage for item in candidates])
    return lookup.in_sections(passages, held, context.understanding.aspects, context.understanding.section)


def _cached_answer(request: LegsRequest, context: _Context, vector_bytes: bytes) -> LegsAnswer:
    """The engine's answer, or its earlier one to the same request; an answer with a failed leg is not cached."""
    meta, answers = context.meta, context.services.answers
    fields = {*context.asked.given, *context.asked.encoded}
    requested = (request.filters, request.facets, request.documents, frozenset(fields), request.withheld)
    key = (meta.index, meta.commit, request.access.key, context.understanding, vector_bytes, requested)
    cached = answers.get(key)
    if cached is not None:
        return cached
    answer = context.services.engine.legs(request)
    is_whole = not answer.missing and fields == request.vectors.keys()
    return answers.put(key, answer) if is_whole else answer


def _run_with_feedback(request: LegsRequest, context: _Context) -> Retrieved:
    """The answer to the moved vectors, or the answer to the query alone if feedback fails.

    All legs run again, so that one answer shows one state of the index. The first answer always has the depth of the result
    window, so every page is based on the same feedback passages.
    """
    trace, window = context.trace, context.services.settings.window
    first = _run_legs(replace(request, documents=window), context)
    try:
        moved_request, feedback_ids = _move_vectors(request, first, context)
        second = _run_legs(moved_request, context, feedback_ids)
        if not feedback_ids or not second.answer.missing:
            return second
        failure = "; ".join(f"{name}: {reason}" for name, reason in second.answer.missing.items())
    except NotFound:
        raise  # the index was dropped: the caller decides (`search.pipeline.search`)
    except MedleyError as error:
        failure = error.message
        trace.step("feedback")
    trace.degraded.append(f"feedback failed ({failure}); the results are those of the query without feedback")
    return first if request.documents == window else _run_legs(request, context)


def _move_vectors(request: LegsRequest, first: Retrieved, context: _Context) -> tuple[LegsRequest, tuple[str, ...]]:
    """The request with moved vectors, and the ids of the passages that moved them."""
    feedback = context.collection.feedback
    if feedback is None or not request.vectors:
        return request, ()
    until = rerank_deadline(context.query, context.services, context.collection, context.trace)
    seconds = FEEDBACK_SECONDS
    if until is not None:
        seconds = min(seconds, FEEDBACK_DEADLINE_SHARE * (until - time.perf_counter()))
    if seconds <= 0:
        raise Unavailable("no time was left before the deadline")
    best = [item.passage for item in first.candidates[: feedback.passages]]
    passages = list(first.contents.passages(best).values())  # those that still exist and that the caller may see
    moved_request = move_query(request, passages, feedback, _encoders(request, context), context.meta.windows, seconds)
    context.trace.step("feedback")
    return moved_request, tuple(passage.id for passage in passages)


def _encoders(request: LegsRequest, context: _Context) -> dict[str, Encoder]:
    """Vector field -> its encoder, for every vector of the request that feedback moves."""
    fingerprints = context.meta.encoders
    moved = request.vectors.keys() - {DISCOURSE}
    found = {name: encoder for name in moved if (encoder := context.services.encoder(fingerprints[name]))}
    if missing := sorted(moved - found.keys()):
        raise Unavailable(f"the encoder for {missing[0]!r} is no longer available")
    return found
