"""The contracts of what must not be lost: documents and their states, and which collections there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mappings.documents import Deletion, Document

Change = Document | Deletion


class State(StrEnum):
    """Where a document's newest version stands in one index."""

    RECEIVED = "received"
    INDEXED = "indexed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the store says of one change. `changed` is false when nothing was to be done: content and labels were the same.

    `stale`: the source has changed it since, by what was accepted before; this copy came late and is not taken.
    """

    id: str
    version: int
    changed: bool
    stale: bool = False


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
    """Documents of a collection by state in one index, tombstones apart; `unburied` of them are still to be carried out."""

    documents: int
    deleted: int
    states: Mapping[State, int] = field(default_factory=dict)
    unburied: int = 0

    @property
    def waiting(self) -> int:
        """How many changes the index has not seen yet."""
        return self.states.get(State.RECEIVED, 0) + self.unburied


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery of changes and what became of its records, or one rebuild; moments in seconds since 1970.

    `finished` is 0 while records still come, and for ever where the sender broke off: what was accepted stays. `cause` is
    why a rebuild was given up.
    """

    id: str
    started: float
    finished: float = 0.0
    accepted: int = 0
    unchanged: int = 0
    stale: int = 0
    deleted: int = 0
    rejected: int = 0
    cause: str = ""


class DocumentStore(Protocol):
    """The durable truth of one collection. When `put` returns, the documents survive a kill."""

    def put(self, changes: Iterable[Change], job: str = "") -> Sequence[Accepted]:
        """Give each document its next version, and each deletion a tombstone, in order; the same again changes nothing.

        Where the source says how new its copies are, one that is older than what was accepted before is `stale`: not
        taken. A deletion of an unknown id leaves a tombstone only with a source version, against copies that come late.
        `job` is written beside every version that is new.
        """
        ...

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A versioned tombstone for each id, however new; unknown ids are `changed=False`."""
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

    def counts(self, index: str, job: str | None = None) -> StoreCounts:
        """How many documents stand where; of those whose newest version came with `job` alone, where it is given."""
        ...

    def oldest(self, index: str) -> float | None:
        """When the oldest change that `index` has not seen was accepted, in seconds since 1970; None: it has seen all."""
        ...

    def keep_job(self, job: Job) -> None:
        """Write down a job, in the place of what was written of it before."""
        ...

    def job(self, identifier: str) -> Job | None:
        """A job as it was last written down."""
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


def next_source(known: int | None, given: int | None) -> int | None:
    """How new the source says a document is after a change: the highest that it said; None: it never said."""
    return given if known is None else known if given is None else max(known, given)


def is_stale(known: int | None, given: int | None) -> bool:
    """Whether a change is older than what was accepted before."""
    return known is not None and given is not None and given < known
