"""The contracts between the search path and its parts; `tests/contracts/` holds every engine to them.

Laws: every ranking is sorted by score descending, then passage id; access and filters apply inside
every leg, to totals and to facets; one answer never shows two versions of a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mappings.documents import Access, FieldValue, Passage
from mappings.errors import Unavailable
from search.query import Facets, Filter, Ranking, Total

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """What one concrete index says of itself.

    `encoders` maps a vector field to the fingerprint of the encoder that filled it; `windows` is the most words that
    one of its vectors stands for, 0 where that is a whole passage, and `rows` how many such vectors stand; `commit` grows with every commit that readers can see.
    """

    index: str
    collection: str
    generation: int
    encoders: Mapping[str, str]
    analysis: str
    commit: int
    passages: int
    documents: int
    windows: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """An analysed text query: index terms and phrases of index terms, each with its weight.

    Analysis happens once, in Python, for every engine. A phrase is an abbreviation's long form; an empty word in it
    keeps the place of a stop word, since the positions in an index do: ("short", "", "breath").
    """

    terms: tuple[tuple[str, float], ...]
    phrases: tuple[tuple[tuple[str, ...], float], ...] = ()


@dataclass(frozen=True, slots=True)
class LegsRequest:
    """All legs of one search: the same filters and access in each, fetched in one round trip.

    `vectors` maps a vector field to a unit query vector of shape (d,). `documents` is how many distinct
    documents each leg should bring. The leg names are `bm25` and the names of the vector fields.
    """

    index: str
    lexical: LexicalQuery
    vectors: Mapping[str, Vectors]
    access: Access
    documents: int
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LegsAnswer:
    """Rankings by leg; total and facets count documents that match lexically under the filters.

    `missing` gives, for each leg that the engine could not answer, the reason.
    """

    rankings: Mapping[str, Ranking]
    total: Total
    facets: Facets
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a document, ready to be indexed whole.

    `vectors[field]` has shape (rows, d), unit rows. `windows[n]` of them, in order, belong to passage n, one each
    where `windows` is empty: a passage is as near as the nearest of its rows.
    """

    document: str
    version: int
    labels: frozenset[str]
    fields: Mapping[str, FieldValue]
    passages: tuple[Passage, ...]
    vectors: Mapping[str, Vectors]
    windows: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows of each vector field belong to each passage, at least one."""
        return self.windows or (1,) * len(self.passages)


class SearchEngine(Protocol):
    """Reads one concrete index at a time; raises `NotFound` for an unknown one, `Unavailable` when down."""

    def resolve(self, collection: str) -> IndexMeta:
        """The concrete index that answers for `collection` now."""
        ...

    def meta(self, index: str) -> IndexMeta:
        """What any index, published or not, says of itself at its newest commit."""
        ...

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets, in one round trip."""
        ...

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are missing from the answer."""
        ...

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        ...


class IndexWriter(Protocol):
    """Writes one index. Nothing is visible before `commit`, and then all of it is."""

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Put each entry in the place of every earlier version of its document."""
        ...

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        ...

    def commit(self) -> Mapping[str, str]:
        """Make all that was written durable and visible.

        Documents that the index refused after all are named with the cause: none of their versions stands.
        """
        ...


class IndexAdmin(Protocol):
    """Makes, publishes and removes the indexes of collections."""

    def create(self, collection: str, encoders: Mapping[str, tuple[str, int]]) -> IndexMeta:
        """A new empty generation, not yet published; `encoders`: vector field -> (fingerprint, dimension)."""
        ...

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The one writer of an index; raises `Conflict` when another still holds it after `wait` seconds."""
        ...

    def publish(self, index: str, first: bool = False) -> None:
        """Let the collection answer from this index from now on, in one step.

        `first`: only where it answers from none yet. Of several processes that do this at once, one has its way.
        """
        ...

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index; refused with `Conflict` if published, or still being written after `wait` seconds."""
        ...

    def published(self, collection: str) -> str | None:
        """The name of the index that `collection` answers from, readable or not; None before anything was published."""
        ...

    def names(self, collection: str) -> Sequence[str]:
        """Every index by name, readable or not."""
        ...

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every index that can be read, and whether it is the published one."""
        ...

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, shape (rows, d), for those passages that stand there unchanged.

        For building another index; it gives no text, so it asks for no access.
        """
        ...

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version that the index holds, in no order; two of one: a torn index."""
        ...

    def drift(self, index: str) -> Sequence[str]:
        """In plain words, how the index differs from what the settings of its collection would make today."""
        ...

    def dead(self, index: str) -> int:
        """How many places of vectors a search reads in vain, since their passages were replaced or removed.

        0 where the engine clears them away by itself.
        """
        ...


class Engine(SearchEngine, IndexAdmin, Protocol):
    """What searches, and makes, fills, publishes and removes indexes."""


@runtime_checkable
class Encoder(Protocol):
    """Texts in, unit vectors out; queries and passages have their own verbs."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the vectors: weights, tokenizer, pooling, templates."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        ...


@runtime_checkable
class TimedEncoder(Protocol):
    """An encoder that can be told how long its answer is worth waiting for; within that time it encodes the same."""

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Vectors:
        """As `Encoder.encode_passages`. Raises `Unavailable` after so many seconds."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against a query; order and cutting belong to the caller."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the scores."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order; a logit, higher is better."""
        ...


class TimedOut(Unavailable):
    """A model server did not answer in the time that there was."""


@runtime_checkable
class TimedReranker(Protocol):
    """A reranker that can be told how long its answer is worth waiting for; within that time it scores the same."""

    def score_within(self, query: str, passages: Sequence[str], seconds: float) -> Vectors:
        """As `Reranker.score`. Raises `TimedOut` after so many seconds."""
        ...
