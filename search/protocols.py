"""The interfaces of engines, encoders and rerankers; `tests/contracts/` checks every engine against them.

Invariants: every ranking is sorted by descending score, then by passage id; access and filters apply inside every leg, to
totals and to facets; one answer never shows two versions of a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mappings.documents import Access, FieldValue, Passage
from mappings.fields import ASSERTED, MENTIONED
from search.patients import PatientsAnswer, PatientsRequest
from search.query import Facets, Filter, LexicalQuery, Phrase, Ranking, Scored, Total

Vectors = NDArray[np.float32]

BM25: Final = "bm25"
"""The name of the lexical leg; a dense leg has the name of its vector field."""


@dataclass(frozen=True, slots=True)
class IndexMeta:
    """The description and counts of one index.

    `encoders` maps a vector field to the fingerprint of its encoder; `windows` is the maximum number of words in a window,
    0 if a vector covers a whole passage; `rows` is the number of vectors; `commit` increases with every visible commit.
    `reading` is the version of the rules and the lexicon that its documents were read by, "" if they were not.
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
    reading: str = ""


@dataclass(frozen=True, slots=True)
class LegsRequest:
    """All legs of one search, fetched in one round trip, each with the same filters and access.

    `vectors` maps a vector field to a unit query vector of shape (d,). `documents` is how many distinct documents each
    leg should return. The legs are named `bm25` and by their vector fields. `withheld` are ids of documents that count as
    absent, because the index holds an earlier version of them than the store.
    """

    index: str
    lexical: LexicalQuery
    vectors: Mapping[str, Vectors]
    access: Access
    documents: int
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LegsAnswer:
    """Rankings by leg; the total and the facets count documents that match lexically under the filters.

    The facet of a field that the index does not have is empty: the kind is newer. `holders` are passages of documents
    that hold the query, to as many documents, with their scores of the lexical leg: first those that hold all of it, then
    the best ones of documents that hold it in several passages. `missing` maps each leg that failed to the reason.
    """

    rankings: Mapping[str, Ranking]
    total: Total
    facets: Facets
    missing: Mapping[str, str] = field(default_factory=dict)
    holders: Sequence[Scored] = ()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a document, ready to be indexed whole.

    `vectors[field]` has shape (rows, d), unit rows. In order, `windows[n]` of them belong to passage n, or one each if
    `windows` is empty. The score of a passage is that of its best row. `asserted[n]` are the keys of what passage n asserts;
    it is empty for a document that was not read.
    """

    document: str
    version: int
    labels: frozenset[str]
    fields: Mapping[str, FieldValue]
    passages: tuple[Passage, ...]
    vectors: Mapping[str, Vectors]
    windows: tuple[int, ...] = ()
    asserted: tuple[frozenset[str], ...] = ()

    @property
    def indexed_fields(self) -> Mapping[str, FieldValue]:
        """The document's fields, and what it asserts: of wider concepts too, and of those that it mentions alone."""
        if not self.asserted:
            return self.fields
        mentioned = {f"{item.concept}|{item.assertion}" for passage in self.passages for item in passage.mentions}
        asserted = frozenset().union(*self.asserted)
        return {**self.fields, ASSERTED: tuple(sorted(asserted)), MENTIONED: tuple(sorted(mentioned))}

    def proven(self, number: int) -> tuple[str, ...]:
        """The keys of what passage `number` asserts, sorted."""
        return tuple(sorted(self.asserted[number])) if self.asserted else ()

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows of each vector field belong to each passage; at least one."""
        return self.windows or (1,) * len(self.passages)


class SearchEngine(Protocol):
    """Reads one index at a time. Raises `NotFound` for an unknown one, `Unavailable` if the engine is down."""

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`, as it was at most a second ago."""
        ...

    def meta(self, index: str) -> IndexMeta:
        """The description and counts of any index, published or not.

        They describe its newest commit, or one that was the newest at most a second ago: cheap enough for every
        request. Raises `NotFound` for a dropped index.
        """
        ...

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets, in one round trip.

        Exclusions take one more, and so do documents that hold a query in several passages.
        """
        ...

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are absent from the result."""
        ...

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        ...

    def has_visible(self, index: str, access: Access) -> bool:
        """Whether the index has any document that the caller may see."""
        ...

    def patients(self, request: PatientsRequest) -> PatientsAnswer:
        """The patients who meet criteria over all of their documents, counted exactly and paged.

        Raises `InvalidInput` for a field that the index does not have.
        """
        ...

    def proofs(
        self, index: str, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase] = ()
    ) -> Mapping[str, Sequence[Passage]]:
        """Document -> its passages that assert one of `keys` (`concept|assertion`) or have one of `phrases`, in order.

        Documents without one, and those that the caller may not see, are absent from the result.
        """
        ...


class IndexWriter(Protocol):
    """Writes one index. Nothing is visible before `commit`, which makes everything visible at once."""

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Replace every earlier version of each entry's document."""
        ...

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        ...

    def commit(self) -> Mapping[str, str]:
        """Make all writes durable and visible.

        Returns the documents that the index rejected, each with the cause: the index contains no version of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something wrong with the files of an index; without `is_damage`, they can't be checked."""

    text: str
    is_damage: bool = True


class IndexAdmin(Protocol):
    """Creates, publishes and drops the indexes of collections."""

    def create(
        self, collection: str, encoders: Mapping[str, tuple[str, int]], above: int = 0, reading: str = ""
    ) -> IndexMeta:
        """Create an empty index generation, not yet published; `encoders`: vector field -> (fingerprint, dimension).

        Its number is higher than `above`, and was never used before. `reading` is the version of what reads its documents.
        """
        ...

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The only writer of an index. Raises `Conflict` while another holds it after `wait` seconds."""
        ...

    def publish(self, index: str, first: bool = False) -> None:
        """Publish an index atomically: searches of its collection use it from now on.

        With `first`, does nothing if an index is already published; if several processes call it at once, one publishes.
        """
        ...

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index. Raises `Conflict` if it is published, or still being written after `wait` seconds."""
        ...

    def published(self, collection: str) -> str | None:
        """The published index of `collection`, readable or not; None before the first publication."""
        ...

    def names(self, collection: str) -> Sequence[str]:
        """The names of all indexes, readable or not, in order of generation."""
        ...

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every readable index, and whether it is the published one."""
        ...

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, shape (rows, d), for passages that are unchanged in the index.

        Used to build another index. It returns no text, so it takes no access.
        """
        ...

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version in the index, unordered.

        A document with two versions is an error in the index.
        """
        ...

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from its collection's current settings, in plain words."""
        ...

    def file_problems(self, index: str, again: bool = True) -> Sequence[FileProblem]:
        """What is wrong with the files of an index, compared with their checksums; reads all of them.

        Without `again`, leaves out what this process found intact before. None for engines that check files themselves.
        """
        ...

    def dead(self, index: str) -> int:
        """How many vectors of replaced or removed passages a search still reads.

        0 for engines that remove them by themselves.
        """
        ...

    def erase(self, index: str) -> bool:
        """Clear the files of an index of what replaced and removed documents leave in them.

        False where they still hold some: then only a rebuild does it.
        """
        ...

    def exclusive(self, collection: str, wait: float = 0.0) -> AbstractContextManager[None]:
        """Exclude all writers of a collection's indexes, new indexes and publications. Raises `Conflict` after `wait` seconds."""
        ...

    def remove(self, collection: str) -> None:
        """Remove every index of a collection, the published one too. The caller holds `exclusive`."""
        ...


class Engine(SearchEngine, IndexAdmin, Protocol):
    """Searches indexes, and creates, fills, publishes and drops them."""


@runtime_checkable
class Encoder(Protocol):
    """Encodes texts as unit vectors; queries and passages have separate methods."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the vectors: weights, tokenizer, pooling, templates."""
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
class Reranker(Protocol):
    """Scores texts against a query; the caller sorts and truncates."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the scores."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order; a logit, higher is better."""
        ...
