"""The contracts of durable storage: documents, their states, and jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from mappings.documents import Deletion, Document
from mappings.errors import Damaged

Change = Document | Deletion


class State(StrEnum):
    """The state of a document's newest version in one index."""

    RECEIVED = "received"
    INDEXED = "indexed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The store's result for one change. `changed` is false where content and labels were the same already.

    `stale`: the store has a copy of a newer source version, so this one is ignored.
    """

    id: str
    version: int
    changed: bool
    stale: bool = False


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The newest version of a document; `content` is None for a tombstone.

    `damage`: why the record can't be read. It is not a deletion, so reading `document` is an error then.
    """

    id: str
    version: int
    content: Document | None
    damage: str = ""

    @property
    def document(self) -> Document | None:
        """The document; None for a tombstone. Raises `Damaged`."""
        if self.damage:
            raise Damaged(f"document {self.id[:200]!r} is {self.damage}", field="id")
        return self.content


DAMAGED: Final = "damaged in the store: send it again"
"""Why a document that was changed on the disk is not indexed."""


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something in a store that was changed on the disk, what to do, and the documents concerned, where they are known."""

    problem: str
    action: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedVersion:
    """The newest version of a document as stores of every engine exchange it.

    `content` is the document as canonical JSON (`search.engines.codec.dump`), None for a tombstone. `accepted` orders the
    changes, in microseconds since 1970; `job` is the delivery that brought this version.
    """

    id: str
    version: int
    content: bytes | None
    accepted: int
    source_version: int | None = None
    job: str = ""


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
    """The documents of a collection by state in one index. Tombstones (`deleted`) are counted apart.

    `pending_deletes` of the tombstones have not reached the index yet.
    """

    documents: int
    deleted: int
    states: Mapping[State, int] = field(default_factory=dict)
    pending_deletes: int = 0

    @property
    def waiting(self) -> int:
        """How many changes the index has not processed yet."""
        return self.states.get(State.RECEIVED, 0) + self.pending_deletes


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery of changes with counts of their outcomes, or one rebuild; times in seconds since 1970.

    `finished` is 0 while records still arrive, and stays 0 if the receiving process was killed: accepted records remain.
    `broken`: it ended early, for example because the connection was lost. `cause` is why a rebuild was abandoned.
    """

    id: str
    started: float
    finished: float = 0.0
    accepted: int = 0
    unchanged: int = 0
    stale: int = 0
    deleted: int = 0
    rejected: int = 0
    broken: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Purged:
    """How much a purge removed from a store for ever.

    `waiting` tombstones were old enough and stay, because an index has not processed them yet.
    """

    versions: int = 0
    tombstones: int = 0
    jobs: int = 0
    waiting: int = 0


class DocumentStore(Protocol):
    """The durable store of one collection. When `put` returns, the documents survive a kill."""

    def put(self, changes: Iterable[Change], job: str = "") -> Sequence[Accepted]:
        """Give each document its next version, and each deletion a tombstone, in order; equal content changes nothing.

        Of changes with a source version, one older than an accepted one is `stale` and ignored. Deleting an unknown id
        leaves a tombstone only with a source version, against older copies that arrive later. `job` is stored with every
        new version.
        """
        ...

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A versioned tombstone for each id, whatever its source version; unknown ids are `changed=False`."""
        ...

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each known id, tombstones included; each is compared with its hash."""
        ...

    def damage(self) -> Sequence[StoreProblem]:
        """What was changed on the disk; reads the newest version of every document."""
        ...

    def newest(self, ids: Collection[str]) -> Mapping[str, int]:
        """The newest version of each document, as of now; deleted and unknown ids are absent. Reads no documents."""
        ...

    def superseded(self, index: str, limit: int) -> Sequence[str]:
        """At most `limit` ids of documents that were replaced or deleted, and whose earlier version `index` may still hold.

        As of now: a change is included from the moment at which `put` or `delete` returns.
        """
        ...

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, oldest first; only of `ids` where given."""
        ...

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set: a record is accepted only while its version is still the newest.

        The store counts the attempts of a version; the number in the record is ignored.
        """
        ...

    def states(self, index: str, state: State, limit: int = 1000, job: str | None = None) -> Sequence[StateRecord]:
        """The records in one state, such as the failed ones; only those whose newest version came with `job`, where given."""
        ...

    def retry(self, index: str) -> int:
        """Set every failed document back to `received`; returns their number."""
        ...

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) in `index` according to its state records, superseded versions included."""
        ...

    def forget(self, index: str) -> None:
        """Remove the state records of a dropped index: its name is never used again."""
        ...

    def indexes(self) -> Collection[str]:
        """The names of all indexes that documents have states in, whether or not the indexes still exist."""
        ...

    def export(self) -> Iterator[ExportedVersion]:
        """Every document that exists when this begins, each once, in that version or a newer one; tombstones included.

        Others may write meanwhile. Raises `Damaged` for a document that is damaged in the store.
        """
        ...

    def restore(self, versions: Iterable[ExportedVersion]) -> int:
        """Store exported versions under their own version numbers, pending for every index; returns how many were given.

        One that is there already is skipped, so an interrupted call can be repeated. Raises `Conflict` for a document that
        is there in another version, or with other content.
        """
        ...

    def counts(self, index: str, job: str | None = None) -> StoreCounts:
        """The number of documents in each state; only of those whose newest version came with `job`, where given."""
        ...

    def oldest(self, index: str) -> float | None:
        """When the oldest change pending for `index` was accepted, in seconds since 1970; None: none is pending."""
        ...

    def keep_job(self, job: Job) -> None:
        """Save a job, replacing its earlier record."""
        ...

    def job(self, identifier: str) -> Job | None:
        """A job as it was last saved; None for an unknown one."""
        ...

    def purge(self, before: float, indexes: Sequence[str], ids: Collection[str] | None = None) -> Purged:
        """Remove for ever what was replaced or deleted at or before `before`, in seconds since 1970; only `ids` if given.

        The newest version of a document that is not deleted always stays. A tombstone goes once all `indexes` have
        processed it; if it has a source version, a keyed hash of its id stays, so that older copies remain stale. Without
        `ids`, the records of jobs go that ended a day earlier. Repeating the call after a kill is harmless.
        """
        ...

    def wipe(self) -> None:
        """Clear the files of the store of what removed rows leave in them; writers can have to wait meanwhile.

        Raises `Unavailable` where other processes prevent it.
        """
        ...

    def seal(self, sealed: bool = True) -> None:
        """Let every process that writes get a `Conflict` from now on, or no longer; reads go on.

        No write that began before is still under way when this returns.
        """
        ...

    def close(self) -> None:
        """Make the store's main file complete by itself, as far as other processes allow; the store stays usable."""
        ...
