"""The one path of a search: understand, encode, one round trip, fuse, fetch, rerank, group, page, explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mappings.collection import Collection
from mappings.documents import FieldValue, Passage, parse_passage_id
from mappings.errors import InvalidInput, MedleyError, NotFound
from search import cursor as cursors
from search import evidence, explain
from search.cache import Cache
from search.fusion import Fused, fuse
from search.grouping import Group, group
from search.protocols import Encoder, IndexMeta, LegsAnswer, LegsRequest, SearchEngine, Vectors
from search.query import Evidence, Hit, Query, Reranked, Results
from search.rerank import Anytime, Ranked, combine
from search.settings import Settings
from search.understanding import Understood, understand

MAX_DEPTH = 1_000
"""Documents that paging may reach; past them a narrower query serves better."""

EVIDENCE_SHARE = 0.2
"""Part of the deadline kept for choosing the evidence sentences with the cross-encoder."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the path is made of; `bootstrap` binds it. A part that is missing is None and named in the answer."""

    engine: SearchEngine
    settings: Settings
    collection: Callable[[str], Collection]
    encoder: Callable[[str], Encoder | None]
    reranker: Callable[[Collection], Anytime | None]
    key: bytes
    vectors: Cache[Vectors] = field(default_factory=lambda: Cache(2_000))
    answers: Cache[LegsAnswer] = field(default_factory=lambda: Cache(256))


@dataclass(slots=True)
class Trace:
    """What happened on the way: milliseconds by step, and what was missing."""

    started: float = field(default_factory=time.perf_counter)
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    last: float = 0.0

    def step(self, name: str) -> None:
        """Note the milliseconds since the last step under `name`."""
        now = time.perf_counter()
        self.timings[name] = self.timings.get(name, 0.0) + 1000 * (now - (self.last or self.started))
        self.last = now

    def finish(self) -> dict[str, float]:
        """All timings with their total, rounded."""
        total = 1000 * (time.perf_counter() - self.started)
        return {name: round(value, 2) for name, value in (*self.timings.items(), ("total", total))}


@dataclass(frozen=True, slots=True)
class Found:
    """An answer on its way: what was read, fetched and ordered so far."""

    meta: IndexMeta
    collection: Collection
    understood: Understood
    answer: LegsAnswer
    fused: Sequence[Fused]


def search(query: Query, parts: Parts) -> Results:
    """One page of answers to `query`.

    Raises `NotFound` for an unknown collection, `InvalidInput` for a filter, facet, sort or cursor that
    is not right, `Unavailable` when the engine is down. A missing model never raises: `degraded` says so.
    """
    trace = Trace()
    collection = parts.collection(query.collection)
    check_fields(query, collection)
    previous = cursors.verify(query.cursor, query, parts.key, parts.settings.cursor_minutes) if query.cursor else None
    if previous:
        return _next_page(query, parts, collection, previous, trace)
    found = _find(query, parts, collection, None, parts.settings.window, trace)
    ranked, scored = _rerank(query, parts, found, trace)
    groups = _groups(query, parts, found, ranked, trace)
    return _page(query, parts, found, groups, Shown(reranked=scored), trace)


def check_fields(query: Query, collection: Collection) -> None:
    """Raise `InvalidInput` for a filter, facet or sort by a field that the collection does not have."""
    wanted = [("filters", item.name) for item in query.filters] + [("facets", name) for name in query.facets]
    if query.sort != "relevance":
        wanted.append(("sort", query.sort.removeprefix("-")))
    for where, name in wanted:
        if name not in collection.fields:
            known = ", ".join(sorted(collection.fields)) or "none"
            raise InvalidInput(f"the collection {collection.name!r} has no field {name!r}; its fields are {known}", field=where)


def _find(query: Query, parts: Parts, collection: Collection, index: str | None, depth: int, trace: Trace) -> Found:
    meta = parts.engine.resolve(collection.name)
    if index and meta.index != index:
        meta = replace(meta, index=index)
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
    key = (meta.index, meta.commit, query.access.key, understood, request.filters, request.facets, depth, tuple(vectors))
    answer = parts.answers.get(key) or parts.answers.put(key, parts.engine.legs(request))
    trace.step("legs")
    fused = fuse(answer.rankings, collection.fusion)
    trace.step("fuse")
    return Found(meta, collection, understood, answer, fused)


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
            vectors[name] = known if known is not None else parts.vectors.put((fingerprint, text), encoder.encode_queries([text])[0])
        except MedleyError as error:
            trace.degraded.append(f"the encoder for '{name}' failed ({error.message}); words alone were searched")
    return vectors


def _rerank(query: Query, parts: Parts, found: Found, trace: Trace) -> tuple[list[Ranked], Reranked]:
    limit = parts.settings.candidates or found.collection.reranking.candidates
    window = found.fused[:limit]
    if not query.rerank or not window:
        return combine(found.fused, {}, 0.0), Reranked(0, 0)
    texts = parts.engine.passages(found.meta.index, [item.passage for item in window], query.access)
    trace.step("fetch")
    present = [item for item in found.fused if item.passage in texts or item not in window]
    window = [item for item in window if item.passage in texts]
    anytime = parts.reranker(found.collection)
    if anytime is None:
        trace.degraded.append("no reranker: the fused order is shown")
        return combine(present, {}, 0.0), Reranked(0, len(window))
    until = _until(query, parts, found.collection, trace, 1 - EVIDENCE_SHARE)
    try:
        scores = anytime.score(found.understood.model_text, [texts[item.passage].model_text for item in window], until)
    except MedleyError as error:
        trace.degraded.append(f"the reranker failed ({error.message}); the fused order is shown")
        return combine(present, {}, 0.0), Reranked(0, len(window))
    trace.step("rerank")
    known = {item.passage: score for item, score in zip(window, scores, strict=True) if score is not None}
    if len(known) < len(window):
        trace.degraded.append(f"the reranker passed its deadline: {len(known)} of {len(window)} reranked")
    return combine(present, known, found.collection.reranking.weight), Reranked(len(known), len(window))


def _until(query: Query, parts: Parts, collection: Collection, trace: Trace, share: float) -> float | None:
    deadline = parts.settings.deadline_ms or collection.reranking.deadline_ms
    milliseconds = deadline if query.deadline_ms is None else query.deadline_ms
    return trace.started + share * milliseconds / 1000 if milliseconds else None


def _groups(query: Query, parts: Parts, found: Found, ranked: Sequence[Ranked], trace: Trace) -> list[Group]:
    name = found.collection.group_by
    if name == "document" and query.sort == "relevance":
        return group(ranked, lambda document: document)
    documents = list(dict.fromkeys(item.fused.document for item in ranked))
    fields = parts.engine.fields(found.meta.index, documents, query.access)
    groups = group(ranked, lambda document: _group_key(fields.get(document, {}), name, document))
    trace.step("group")
    return groups if query.sort == "relevance" else _sorted_by(query.sort, groups, fields)


def _group_key(fields: Mapping[str, FieldValue], name: str, document: str) -> str:
    value = fields.get(name)
    return f"{name}:{value}" if value else document


def _sorted_by(sort: str, groups: list[Group], fields: Mapping[str, Mapping[str, FieldValue]]) -> list[Group]:
    """Groups by a field of their best document, those without it last; equals keep their order."""
    name = sort.removeprefix("-")

    def value(item: Group) -> Any:
        return fields.get(item.best.fused.document, {}).get(name)

    having = [item for item in groups if value(item) is not None]
    return sorted(having, key=value, reverse=sort.startswith("-")) + [item for item in groups if value(item) is None]


@dataclass(frozen=True, slots=True)
class Shown:
    """What came before this page: the marks of shown groups, and whether the window's end was passed."""

    marks: tuple[str, ...] = ()
    beyond: bool = False
    reranked: Reranked = field(default_factory=lambda: Reranked(0, 0))


def _next_page(query: Query, parts: Parts, collection: Collection, previous: cursors.Cursor, trace: Trace) -> Results:
    shown = Shown(previous.shown, previous.beyond)
    depth = parts.settings.window
    if not previous.items:
        depth, shown = min(MAX_DEPTH, depth + 2 * len(previous.shown)), replace(shown, beyond=True)
    try:
        found = _find(query, parts, collection, previous.index, depth, trace)
    except NotFound:
        raise InvalidInput("the index of this cursor is gone: search again from the first page", field="cursor") from None
    groups = _frozen(found, previous) if previous.items else _deeper(query, parts, found, previous, trace)
    return _page(query, parts, found, groups, shown, trace)


def _frozen(found: Found, previous: cursors.Cursor) -> list[Group]:
    """The groups that page 1 froze, with their fusion parts where the legs still bring them."""
    parts = {item.passage: item for item in found.fused}
    groups = []
    for item in previous.items:
        document = parse_passage_id(item.passage)[0]
        fused = parts.get(item.passage) or Fused(item.passage, document, item.score, {})
        groups.append(Group(document, Ranked(fused, item.score, item.cross)))
    return groups


def _deeper(query: Query, parts: Parts, found: Found, previous: cursors.Cursor, trace: Trace) -> list[Group]:
    """Past the window the fused order goes on, without what was shown."""
    ranked = [Ranked(item, item.score - 1) for item in found.fused]
    shown = set(previous.shown)
    return [item for item in _groups(query, parts, found, ranked, trace) if not shown & _marks(item)]


def _marks(item: Group) -> set[str]:
    return {cursors.group_mark(name) for name in (item.key, *item.documents)}


def _page(query: Query, parts: Parts, found: Found, groups: Sequence[Group], shown: Shown, trace: Trace) -> Results:
    page, rest = groups[: query.size], groups[query.size :]
    texts = parts.engine.passages(found.meta.index, [item.best.fused.passage for item in page], query.access)
    page = [item for item in page if item.best.fused.passage in texts]
    fields = parts.engine.fields(found.meta.index, [item.best.fused.document for item in page], query.access)
    trace.step("fetch")
    proofs = _evidence(query, parts, found, [texts[item.best.fused.passage] for item in page], trace)
    hits = tuple(
        _hit(query, found, item, texts[item.best.fused.passage], fields.get(item.best.fused.document, {}), proof)
        for item, proof in zip(page, proofs, strict=True)
    )
    trace.step("evidence")
    return Results(
        hits=hits,
        total=found.answer.total,
        facets=found.answer.facets,
        timings_ms=trace.finish(),
        reranked=shown.reranked,
        degraded=tuple(trace.degraded),
        cursor=_cursor(query, parts, found, page, rest, shown),
        index=found.meta.index,
        beyond_window=shown.beyond,
        understood=_understood(found.understood),
    )


def _understood(understood: Understood) -> dict[str, Any]:
    return {
        "text": understood.model_text,
        "terms": [term for term, _ in understood.lexical.terms],
        "expansions": [{"short": short, "long": longer} for short, longer in understood.expansions],
        "notes": list(understood.notes),
    }


def _cursor(query: Query, parts: Parts, found: Found, page: Sequence[Group], rest: Sequence[Group], shown: Shown) -> str | None:
    marks = (*shown.marks, *(mark for item in page for mark in sorted(_marks(item))))
    more = bool(rest) or (len(page) == query.size and found.answer.total.value > len(marks) // 2)
    if not more or len(marks) // 2 >= MAX_DEPTH:
        return None
    items = tuple(cursors.Item(item.best.fused.passage, item.best.score, item.best.cross) for item in rest)
    issued = cursors.Cursor(
        found.meta.index, cursors.query_mark(query), cursors.access_mark(query.access), items, marks, int(time.time()), shown.beyond
    )
    return cursors.sign(issued, parts.key)


def _evidence(
    query: Query, parts: Parts, found: Found, passages: Sequence[Passage], trace: Trace
) -> list[tuple[Evidence, ...]]:
    """For each passage the sentences to show: by the cross-encoder if time is left, by words otherwise."""
    weights = evidence.rarity([passage.text for passage in passages], found.understood.terms)
    choices = [evidence.candidates(passage.text, weights, 3) for passage in passages]
    anytime = parts.reranker(found.collection) if query.rerank else None
    until = _until(query, parts, found.collection, trace, 1.0)
    if anytime is None or until is None:
        return [evidence.best(choice) for choice in choices]
    proofs = []
    for choice in choices:
        try:
            scores = anytime.score(found.understood.model_text, [item.text for item in choice], until)
        except MedleyError:
            scores = [None]
        complete = [score for score in scores if score is not None]
        proofs.append(evidence.best(choice, complete if len(complete) == len(choice) else None))
    return proofs


def _hit(
    query: Query, found: Found, item: Group, passage: Passage, fields: Mapping[str, FieldValue], proof: tuple[Evidence, ...]
) -> Hit:
    terms = found.understood.terms
    matched = sorted({token for token in _matched(passage, terms)}) if query.explain else []
    return Hit(
        document=passage.document,
        passage=passage.id,
        score=item.best.score,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        evidence=proof,
        title_marks=evidence.marks(passage.title, terms),
        fields=dict(fields),
        lexical="bm25" in item.best.fused.parts,
        more_passages=len(item.others),
        explain=explain.explain(item.best, matched) if query.explain else None,
    )


def _matched(passage: Passage, terms: frozenset[str]) -> set[str]:
    text = f"{passage.title}\n{passage.heading}\n{passage.text}"
    return {text[span.start : span.end].lower() for span in evidence.marks(text, terms)}


