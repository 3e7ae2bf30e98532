"""What a search works with: the services that `bootstrap` binds, the contents of an index, and the trace of one search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mappings.clinical.reading import ConceptReader
from mappings.collection import Collection
from mappings.documents import Access, FieldValue, Passage
from search.discourse.models import WholeDocumentEncoder
from search.memory.cache import Cache
from search.memory.scores import ScoreMemory
from search.protocols import Encoder, LegsAnswer, SearchEngine, Vectors
from search.query import Query
from search.ranking.cascade import RerankStages
from search.ranking.claims import AnytimeClaimReader
from search.settings import Settings
from search.storage import DocumentStore
from search.tracing.spans import NO_STEPS, Steps


@dataclass(frozen=True, slots=True)
class SearchServices:
    """Everything a search calls. A missing encoder or reranker is None, and the answer says so.

    `encoder` finds a bi-encoder by fingerprint, `reranker` gives a collection's rerank stages, `claim_reader` what reads
    stances in it, `discourse` finds a discourse model by fingerprint; `key` signs cursors. `store` gives a collection's
    documents, so that no earlier version is shown; without it, the index alone counts. `reader` is what reads the documents
    of a collection.

    `scores` remembers what the rerankers scored before the deadline, of passages and of sentences: the same search gets the
    same order while its index is unchanged, however busy the machine is.
    """

    engine: SearchEngine
    settings: Settings
    collection: Callable[[str], Collection]
    encoder: Callable[[str], Encoder | None]
    reranker: Callable[[Collection], RerankStages | None]
    key: bytes
    store: Callable[[str], DocumentStore] | None = None
    reader: Callable[[Collection], ConceptReader | None] = lambda collection: None
    claim_reader: Callable[[Collection], AnytimeClaimReader | None] = lambda collection: None
    discourse: Callable[[str], WholeDocumentEncoder | None] = lambda fingerprint: None
    vectors: Cache[Vectors] = field(default_factory=lambda: Cache(2_000))
    answers: Cache[LegsAnswer] = field(default_factory=lambda: Cache(256))
    scores: ScoreMemory = field(default_factory=ScoreMemory)


class Contents:
    """Passages and fields of one index that one caller may see; a search fetches each from the engine at most once."""

    def __init__(self, engine: SearchEngine, index: str, access: Access) -> None:
        self._engine, self._index, self._access = engine, index, access
        self._passages: dict[str, Passage | None] = {}
        self._fields: dict[str, Mapping[str, FieldValue] | None] = {}

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Those of the passages `ids` that still exist and that the caller may see, by id, in the order of `ids`."""
        if unfetched := [name for name in ids if name not in self._passages]:
            found = self._engine.passages(self._index, unfetched, self._access)
            self._passages.update({name: found.get(name) for name in unfetched})
        return {name: passage for name in ids if (passage := self._passages[name]) is not None}

    def tokens(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The stored token vectors of those passages that have some and that the caller may see, by id."""
        return self._engine.tokens(self._index, ids, self._access) if ids else {}

    def fields(self, documents: Sequence[str]) -> dict[str, Mapping[str, FieldValue]]:
        """The fields of those documents that still exist and that the caller may see, by document."""
        if unfetched := [name for name in documents if name not in self._fields]:
            found = self._engine.fields(self._index, unfetched, self._access)
            self._fields.update({name: found.get(name) for name in unfetched})
        return {name: fields for name in documents if (fields := self._fields[name]) is not None}


@dataclass(slots=True)
class Trace:
    """A record of one search: milliseconds by step, in `degraded` what failed or was missing, in `partial` what time cut.

    `spans` records the same steps for traces, where they are on.
    """

    started: float = field(default_factory=time.perf_counter)
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    last: float = 0.0
    spans: Steps = NO_STEPS

    def step(self, name: str) -> None:
        """Add the milliseconds since the last step to `name`."""
        now = time.perf_counter()
        self.timings[name] = self.timings.get(name, 0.0) + 1000 * (now - (self.last or self.started))
        self.last = now
        self.spans.end(name)

    def finish(self) -> dict[str, float]:
        """All timings with their total, rounded."""
        total = 1000 * (time.perf_counter() - self.started)
        return {name: round(value, 2) for name, value in (*self.timings.items(), ("total", total))}


def rerank_milliseconds(query: Query, services: SearchServices, collection: Collection) -> int:
    """The time for reranking that the query, the settings or the collection allow; 0 without a deadline."""
    configured = services.settings.deadline_ms or collection.reranking.deadline_ms
    return configured if query.deadline_ms is None else query.deadline_ms


def rerank_deadline(
    query: Query, services: SearchServices, collection: Collection, trace: Trace, share: float = 1.0
) -> float | None:
    """The moment when `share` of the reranking time has passed since the search started; None without a deadline."""
    milliseconds = rerank_milliseconds(query, services, collection)
    return trace.started + share * milliseconds / 1000 if milliseconds else None


def stance_deadline(query: Query, services: SearchServices, collection: Collection, trace: Trace) -> float | None:
    """The moment when a page is no longer read, for stances and sentences; None without a deadline.

    Where the kind reads stances, some time after that of reranking.
    """
    until = rerank_deadline(query, services, collection, trace)
    if until is None or collection.stance is None:
        return until
    return until + collection.stance.deadline_ms / 1000 if collection.stance.deadline_ms else None
