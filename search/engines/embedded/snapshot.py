"""One commit of one index, immutable, so one answer never mixes two commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from encoders.devices import cores
from mappings.documents import Access, FieldValue, Passage, PassageMention, parse_passage_id
from search.engines.codec import decode_fields
from search.engines.embedded.cohorts.documents import SnapshotDocuments
from search.engines.embedded.queries import TantivyQueryCompiler, facet_of, facet_value
from search.engines.embedded.schema import EmbeddedIndexDescription
from search.engines.embedded.slots.reader import SlotReader, slots_of_runs, without_slots
from search.engines.embedded.tokens.files import SnapshotTokens
from search.engines.embedded.vectors.masks import SlotMasks
from search.engines.embedded.vectors.nearest import Preselection, nearest
from search.engines.gathering import Rows, gather
from search.engines.values import FACET_VALUES, MAX_VALUES, by_year, check_query_vector, top_values
from search.protocols import BM25, IndexMeta, LegsAnswer, LegsRequest, Vectors
from search.query import (
    YEARLY,
    FacetCount,
    Facets,
    Filter,
    LexicalQuery,
    Phrase,
    Ranking,
    Scored,
    Total,
    counted_field,
)

_Answer = TypeVar("_Answer")
_FACET_FETCH: Final = 1_000
_DECIMALS: Final = 4
# Sums of float32 differ in the last bits by order; rounded, equal texts tie and their ids decide.
_TOTAL: Final = " total"  # no field can have this name
_COUNT: Final = {"value_count": {"field": "slot"}}
_BESIDE_FROM: Final = 10_000
"""From so many rows on, words are searched beside vectors."""


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="words-and-vectors")


def _beside(leg: Callable[[], _Answer]) -> Future[_Answer]:
    """What `leg` answers, in a thread of its own."""
    return _threads().submit(copy_context().run, leg)


class Snapshot:
    """A searcher on one commit, its slots, and the cached slots of filters and access; what the `earlier` one made is used on."""

    def __init__(
        self, folder: Path, description: EmbeddedIndexDescription, index: Any, commit: int, earlier: Snapshot | None
    ) -> None:
        self.preselections: Mapping[str, Preselection] = (
            earlier.preselections
            if earlier
            else {name: Preselection(size) for name, size in description.dimensions.items()}
        )
        self.description = description
        self._index = index
        self._searcher = index.searcher()
        self._firsts, self._rows = self._matching(None)
        everything = slots_of_runs(self._firsts, self._rows)
        self._live = len(everything)
        self._slots = SlotReader(folder, description.dimensions, int(everything[-1]) + 1 if self._live else 0)
        self._masks = SlotMasks()
        self._plain = self.compiler({})
        self.tokens = SnapshotTokens(folder, description.tokens, self._searcher, self._slots, self._plain)
        self.patients: SnapshotDocuments = SnapshotDocuments(
            self._searcher, self._slots, self._plain, earlier.patients.tables if earlier else {}
        )
        firsts = TantivyQueryCompiler.firsts(index.schema)
        self.meta = IndexMeta(
            index=description.index,
            collection=description.collection,
            generation=description.generation,
            encoders={name: fingerprint for name, (fingerprint, _) in description.encoders.items()},
            analysis=description.analysis,
            commit=commit,
            passages=len(self._firsts),
            documents=int(self._searcher.aggregate(firsts, {_TOTAL: _COUNT})[_TOTAL]["value"]),
            windows=description.windows,
            rows=self._live,
            reading=description.reading,
            by_words=self._slots.documents_without_vectors(self._firsts),
            tokens=description.tokens,
        )

    def compiler(self, boosts: Mapping[str, float]) -> TantivyQueryCompiler:
        """A compiler of queries for this index."""
        return TantivyQueryCompiler(self._index.schema, self.description.fields, boosts)

    def legs(self, request: LegsRequest, compiler: TantivyQueryCompiler) -> LegsAnswer:
        """Every leg of the request, the total and the facets."""
        request = self._without_excluded(request, compiler)
        allowed = self._allowed(request.filters, request.access, compiler)
        if request.withheld:
            allowed = without_slots(allowed, self._slots_of(compiler.of_documents(request.withheld)))
        # A restriction that excludes nothing is left out: without it tantivy can skip what can't reach the top.
        restricted = len(allowed) < self._live
        restriction = compiler.restriction(request.filters, request.access, request.withheld) if restricted else None
        by_words = partial(self._by_words, request, compiler, restriction)
        # A thread costs what it saves beside few rows, except where vectors of two fields are scanned.
        words = _beside(by_words) if self._live >= _BESIDE_FROM else None
        scans = [partial(self._dense, *item, allowed, request.documents) for item in request.vectors.items()]
        others = [_beside(scan) for scan in scans[1:]]
        dense = [*(scan() for scan in scans[:1]), *(other.result() for other in others)]
        answer = words.result() if words else by_words()
        return replace(answer, rankings={**answer.rankings, **dict(zip(request.vectors, dense, strict=True))})

    def _by_words(self, request: LegsRequest, compiler: TantivyQueryCompiler, restriction: Any | None) -> LegsAnswer:
        """The answer without the legs of vectors."""
        rankings = {BM25: self._lexical(request, compiler, restriction)}
        total, facets = self._counts(request, compiler, restriction)
        return LegsAnswer(rankings, total, facets, holders=self._holders(request, compiler, restriction))

    def _without_excluded(self, request: LegsRequest, compiler: TantivyQueryCompiler) -> LegsRequest:
        """The request with every document withheld that has an excluded phrase."""
        if not request.lexical.excluded:
            return request
        firsts, _ = self._matching(compiler.holding_any(request.lexical.excluded))
        excluded = (parse_passage_id(item)[0] for item in self._slots.passage_ids(firsts.tolist()))
        return replace(request, withheld=tuple(sorted({*request.withheld, *excluded})))

    def _holders(self, request: LegsRequest, compiler: TantivyQueryCompiler, restriction: Any | None) -> list[Scored]:
        query = request.lexical
        if not (query.wanted or query.named):
            return []
        found = list(self._ranked(compiler.holders(query, restriction), request.documents))
        held = {item.document for item in found}
        if len(held) < request.documents and len(query.wanted) > 1 and self.meta.passages > self.meta.documents:
            across = self._ranked(compiler.holders_by_document(query, restriction), request.documents)
            others = [name for name in dict.fromkeys(item.document for item in across) if name not in held]
            if others := others[: request.documents - len(held)]:
                found += self._ranked(compiler.lexical(query, compiler.of_documents(others)), len(others))
        return found

    def contents(self) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version in the index."""
        ids = self._slots.passage_ids(self._firsts.tolist())
        counted = Counter(parse_passage_id(item)[:2] for item in ids)
        return ((document, version, number) for (document, version), number in counted.items())

    @property
    def dead(self) -> int:
        """How many slots of replaced or removed passages a vector search still reads."""
        return self._slots.rows - self._live

    def passages(self, ids: Sequence[str], access: Access) -> dict[str, Passage]:
        """The passages that exist and that the caller may see."""
        found = self._shown(self._plain.among("passage", ids, access), len(ids))
        return {passage.id: passage for passage in (self._passage(shown, slot) for shown, slot in found)}

    def vectors(self, passages: Sequence[Passage]) -> dict[str, dict[str, Vectors]]:
        """Passage id -> vector field -> its vectors, for the passages that the index holds unchanged."""
        wanted = {passage.id: passage for passage in passages}
        found: dict[str, dict[str, Vectors]] = {}
        for shown, slot in self._shown(self._plain.named(list(wanted)), len(wanted)):
            passage = self._passage(shown, slot)
            if wanted[passage.id].as_returned == passage and not len(self._slots.without_vectors(np.array([slot]))):
                end = slot + int(self._rows[np.searchsorted(self._firsts, slot)])
                rows = {name: parts[0][slot:end].astype(np.float32) for name, parts in self._slots.vectors.items()}
                found[passage.id] = rows
        return found

    def _passage(self, shown: list[Any], slot: int) -> Passage:
        document, version, ordinal = parse_passage_id(self._slots.passage_ids([slot])[0])
        title, heading, text, context, _, mentions = shown
        stored = tuple(map(PassageMention._make, mentions))
        return Passage(document, version, ordinal, title, heading, text, context, mentions=stored)

    def proofs(
        self, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase]
    ) -> dict[str, list[Passage]]:
        """Document -> its passages that assert one of `keys` or have one of `phrases`, in order."""
        found: dict[str, list[Passage]] = {}
        if not documents or not (keys or phrases):
            return found
        slots = self._matching(self._plain.proving(documents, keys, access, phrases))[0].tolist()
        for passage in self.passages(self._slots.passage_ids(slots), access).values():
            found.setdefault(passage.document, []).append(passage)
        return {document: sorted(own, key=lambda item: item.ordinal) for document, own in found.items()}

    def fields(self, documents: Sequence[str], access: Access) -> dict[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        found: dict[str, Mapping[str, FieldValue]] = {}
        for shown, slot in self._shown(self._plain.first_among(documents, access), len(documents)):
            found[parse_passage_id(self._slots.passage_ids([slot])[0])[0]] = decode_fields(shown[4])
        return found

    def has_visible(self, access: Access) -> bool:
        """Whether there is any document that the caller may see."""
        return bool(self._searcher.search(self._plain.restriction((), access), 1, count=False).hits)

    def values(self, name: str, access: Access, withheld: Sequence[str]) -> dict[str, int]:
        """Value of a field -> how many documents that the caller may see have it."""
        kind, restriction = self._plain.field_kind(name), self._plain.restriction((), access, withheld)
        every = self._plain.counts(LexicalQuery((), everything=True), restriction, split=True)
        buckets = self._searcher.aggregate(every, {name: facet_of(name, MAX_VALUES)})[name]["buckets"]
        return {facet_value(kind, item["key"]): int(item["doc_count"]) for item in buckets}

    def _shown(self, query: Any, count: int) -> list[tuple[list[Any], int]]:
        if not count:
            return []
        addresses = [address for _, address in self._searcher.search(query, count, count=False).hits]
        slots = self._searcher.fast_field_values("slot", addresses)
        return [
            (orjson.loads(self._searcher.doc(address)["shown"][0]), slot)
            for address, slot in zip(addresses, slots, strict=True)
        ]

    def _lexical(self, request: LegsRequest, compiler: TantivyQueryCompiler, restriction: Any | None) -> Ranking:
        return self._ranked(compiler.lexical(request.lexical, restriction), request.documents)

    def _ranked(self, query: Any, documents: int) -> Ranking:
        """The passages that match `query`, to so many distinct documents."""

        def fetch(limit: int) -> Rows:
            hits = self._searcher.search(query, limit, count=False).hits
            slots = self._searcher.fast_field_values("slot", [address for _, address in hits])
            scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
            return slots, scores.round(_DECIMALS)

        spread = max(1.0, min(4.0, self.meta.passages / max(self.meta.documents, 1)))
        return gather(fetch, self._slots.passage_ids, documents, spread)

    def _dense(self, name: str, vector: NDArray[np.float32], allowed: NDArray[np.int64], documents: int) -> Ranking:
        check_query_vector(self.meta.index, self.description.dimensions, name, vector)

        def fetch(limit: int) -> Rows:
            slots, scores = nearest(self._slots.vectors[name], allowed, vector, limit, self.preselections[name])
            return slots.tolist(), scores.astype(np.float64)

        spread = max(1.0, min(4.0, self._live / max(self.meta.documents, 1)))
        return gather(fetch, self._slots.passage_ids, documents, spread)

    def _counts(
        self, request: LegsRequest, compiler: TantivyQueryCompiler, restriction: Any | None
    ) -> tuple[Total, Facets]:
        query = compiler.counts(request.lexical, restriction, self.meta.passages > self.meta.documents)
        known = [name for name in request.facets if counted_field(name) in self.description.fields]
        wanted = {name: facet_of(name, MAX_VALUES if name.endswith(YEARLY) else _FACET_FETCH) for name in known}
        answer = self._searcher.aggregate(query, {_TOTAL: _COUNT, **wanted})
        facets = {name: self._facet(query, name, answer[name], compiler) for name in wanted}
        return Total(int(answer[_TOTAL]["value"])), {name: facets.get(name, ()) for name in request.facets}

    def _facet(
        self, query: Any, name: str, answer: Mapping[str, Any], compiler: TantivyQueryCompiler
    ) -> tuple[FacetCount, ...]:
        """The most frequent values, ties by value."""
        buckets = answer["buckets"]
        if name.endswith(YEARLY):
            days = ((date.fromordinal(int(item["key"])), int(item["doc_count"])) for item in buckets)
            return by_year(days)
        if answer["sum_other_doc_count"] and buckets[FACET_VALUES - 1]["doc_count"] == buckets[-1]["doc_count"]:
            # Values tie beyond the fetched ones, so only all of them together show which come first.
            buckets = self._searcher.aggregate(query, {name: facet_of(name, MAX_VALUES)})[name]["buckets"]
        kind = compiler.field_kind(name)
        return top_values(FacetCount(facet_value(kind, item["key"]), int(item["doc_count"])) for item in buckets)

    def _allowed(
        self, filters: tuple[Filter, ...], access: Access, compiler: TantivyQueryCompiler
    ) -> NDArray[np.int64]:
        """The slots that the caller may see and that match the filters, ascending; cached for this commit."""
        key = (frozenset(filters), access.key)
        return self._masks.get(key, lambda: self._slots_of(compiler.restriction(filters, access)))

    def _slots_of(self, query: Any) -> NDArray[np.int64]:
        return slots_of_runs(*self._matching(query))

    def _matching(self, query: Any | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first slot of every matching passage, ascending, and its number of slots."""
        query = query if query is not None else TantivyQueryCompiler.everything()
        limit = self._searcher.num_docs
        if not limit:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        hits = self._searcher.search(query, limit, count=False, order_by_field="slot").hits
        firsts = np.fromiter((slot for slot, _ in hits), np.int64, len(hits))
        rows = np.asarray(self._searcher.fast_field_values("rows", [address for _, address in hits]), np.int64)
        order = np.argsort(firsts)
        return firsts[order], rows[order]
