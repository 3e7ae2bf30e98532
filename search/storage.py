"""The contracts of what must not be lost: documents and their states, and which collections there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mappings.documents import Document


class State(StrEnum):
    """Where a document's newest version stands in one index."""

    RECEIVED = "received"
    INDEXED = "indexed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the store says of one put or delete. `changed` is false when content and labels were the same already."""

    id: str
    version: int
    changed: bool


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The newest version of a document; `document` is None for a tombstone."""

    id: str
    version: int
    document: Document | None


@dataclass(frozen=True, slots=True)
class StateRecord:
    """The state of one document version in one index."""

    id: str
    version: int
    state: State
    passages: int = 0
    attempts: int = 0
    cause: str = ""


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """Documents of a collection by state in one index, tombstones apart."""

    documents: int
    deleted: int
    states: Mapping[State, int] = field(default_factory=dict)


class DocumentStore(Protocol):
    """The durable truth of one collection. When `put` returns, the documents survive a kill."""

    def put(self, documents: Iterable[Document]) -> Sequence[Accepted]:
        """Give each document its next version; the same content again changes nothing."""
        ...

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A versioned tombstone for each id; unknown ids are `changed=False`."""
        ...

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each id that is known, tombstones included."""
        ...

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, oldest first; of `ids` alone where they are given."""
        ...

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set: a record is taken only while its version is still the newest.

        Attempts at a version are counted by the store; the number in the record is not read.
        """
        ...

    def states(self, index: str, state: State, limit: int = 1000) -> Sequence[StateRecord]:
        """The records in one state, such as the dead-letter list."""
        ...

    def retry(self, index: str) -> int:
        """Put every failed document back to `received`; how many there were."""
        ...

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) that `index` holds by its records, also of versions superseded since."""
        ...

    def forget(self, index: str) -> None:
        """Drop the records of an index that is gone for good: its name is never used again, nor asked for."""
        ...

    def counts(self, index: str) -> StoreCounts:
        """How many documents stand where."""
        ...


@dataclass(frozen=True, slots=True)
class Catalogued:
    """What is written down of a collection: its kind, and the weights that `medley tune` measured, as TOML or empty."""

    kind: str
    tuned: str = ""


class Catalog(Protocol):
    """Which collections there are; every process of an installation sees the same."""

    def names(self) -> Sequence[str]:
        """Every collection, by name."""
        ...

    def read(self, name: str) -> Catalogued | None:
        """What was written down of a collection; None where there is none of this name."""
        ...

    def add(self, name: str, kind: str) -> None:
        """Write down a new collection."""
        ...

    def tune(self, name: str, weights: str) -> str:
        """Put measured weights (TOML) in the place of those before; where they stand now."""
        ...
