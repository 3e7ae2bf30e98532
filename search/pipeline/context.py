"""What a search is made of, and what it gathers on its way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mappings.collection import Collection
from search.cache import Cache
from search.pipeline.understanding import Understood
from search.protocols import Encoder, IndexMeta, LegsAnswer, SearchEngine, Vectors
from search.query import Query
from search.ranking.cascade import Stages
from search.ranking.fusion import Fused
from search.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What the path is made of; `bootstrap` binds it. A part that is missing is None and named in the answer."""

    engine: SearchEngine
    settings: Settings
    collection: Callable[[str], Collection]
    encoder: Callable[[str], Encoder | None]
    reranker: Callable[[Collection], Stages | None]
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
    """An answer on its way; `full`: some leg brought as many documents as it may, so there may be more.

    `feedback` are the passages of a first answer that moved the query's vectors, where the collection searches twice.
    """

    meta: IndexMeta
    collection: Collection
    understood: Understood
    answer: LegsAnswer
    fused: Sequence[Fused]
    full: bool
    feedback: tuple[str, ...] = ()


def deadline(query: Query, parts: Parts, collection: Collection, trace: Trace, share: float = 1.0) -> float | None:
    """The moment when `share` of the reranking deadline is over, counted from the start of the search; None: no deadline."""
    own = parts.settings.deadline_ms or collection.reranking.deadline_ms
    milliseconds = own if query.deadline_ms is None else query.deadline_ms
    return trace.started + share * milliseconds / 1000 if milliseconds else None
