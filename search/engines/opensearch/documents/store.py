"""The durable store of one collection on the cluster: raw documents, the newest version of each, and states by index.

Five indexes. `versions` holds raw documents, each written once. `documents` holds a head for each document: its newest
version, and in `settled` the indexes that have processed it; heads are changed by compare-and-set. `states` holds the
record of each document in each index, `jobs` one record for each job,
`erased` what of purged documents must stay refused. Pending and failed documents are queries on heads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from mappings.errors import Unavailable
from search.engines import codec
from search.engines.opensearch.client import Cluster, no_check
from search.engines.opensearch.documents import exchange, queries
from search.engines.opensearch.documents.acceptance import apply_changes
from search.engines.opensearch.documents.erasure import Erased, Purge
from search.engines.opensearch.documents.expunge import expunge
from search.engines.opensearch.documents.head_table import HeadTable
from search.engines.opensearch.documents.heads import Head, is_repeated
from search.engines.opensearch.documents.raws import raw_of, restored, unreadable
from search.engines.opensearch.documents.states import record_of, state_id, state_row
from search.engines.opensearch.documents.tables import Row, Table, table_name
from search.storage import (
    Accepted,
    Change,
    ExportedVersion,
    Job,
    Purged,
    State,
    StateRecord,
    StoreCounts,
    StoredDocument,
    StoreProblem,
)

_PAGE: Final = 5_000
_WIPE_SECONDS: Final = 720.0
_HEAD: Final[dict[str, Any]] = {
    "id": {"type": "keyword"},
    "turn": {"type": "long"},
    "deleted": {"type": "boolean"},
    "settled": {"type": "keyword"},
    "failed": {"type": "keyword"},
    "job": {"type": "keyword"},
    "replaces": {"type": "boolean"},
}
_STATE: Final[dict[str, Any]] = {"index": {"type": "keyword"}, "passages": {"type": "integer"}}


class OpenSearchStore:
    """A `DocumentStore` in five indexes of the cluster. Threads and processes share it."""

    def __init__(
        self, cluster: Cluster, collection: str, shards: int = 1, check: Callable[[], None] = no_check
    ) -> None:
        def table(name: str, properties: dict[str, Any]) -> Table:
            made = Table(cluster, table_name(cluster, collection, name), properties, shards)
            made.forget()  # an earlier collection can have had the name
            return made

        self._heads = HeadTable(table("documents", _HEAD))
        self._raws = table("versions", {})
        self._states = table("states", _STATE)
        self._jobs = table("jobs", {})
        self._erased = Erased(table("erased", {}))
        self._tables = (self._heads.table, self._raws, self._states, self._jobs, self._erased.table)
        self._cluster, self._check = cluster, check
        self._turn = 0
        self._lock = threading.Lock()

    def put(self, changes: Iterable[Change], job: str = "") -> Sequence[Accepted]:
        """Give each document its next version, a few hundred at a time; see `DocumentStore.put`.

        An error in the middle leaves every earlier part accepted; repeating the whole call is harmless.
        """
        return [item for chunk in codec.chunks(codec.pack_changes(changes)) for item in self._accept(chunk, job)]

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A tombstone version for each id; unknown and already deleted ids are `changed=False`."""
        return [item for chunk in codec.chunks(codec.pack_deletions(ids)) for item in self._accept(chunk, "")]

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each known id, tombstones included."""
        found: dict[str, StoredDocument] = {}
        for chunk in codec.batches(list(map(codec.encodable, ids)), codec.CHUNK_DOCUMENTS):
            heads = [head for head, _ in self._heads.read(chunk).values() if head.version]
            raws = self._raws.read([head.raw for head in heads if not head.deleted])
            for head in heads:
                found[head.id] = (
                    StoredDocument(head.id, head.version, None)
                    if head.deleted
                    else restored(head, raw_of(head, raws[head.raw], self._raws.name))
                )
        return found

    def newest(self, ids: Collection[str]) -> Mapping[str, int]:
        """The newest version of each document; deleted and unknown ids are absent."""
        found: dict[str, int] = {}
        for chunk in codec.batches(list(map(codec.encodable, ids)), codec.CHUNK_DOCUMENTS):
            heads = [head for head, _ in self._heads.read(chunk).values()]
            found.update({head.id: head.version for head in heads if head.version and not head.deleted})
        return found

    def superseded(self, index: str, limit: int) -> Sequence[str]:
        """At most `limit` ids of documents whose earlier version `index` may still hold; see `DocumentStore.superseded`."""
        return self._heads.superseded(index, limit)

    def damage(self) -> Sequence[StoreProblem]:
        """Documents whose record does not have its hash; the cluster checks its files itself."""
        found: list[str] = []
        for chunk in codec.batches(self._heads.search({"match_all": {}}, "id", None), codec.CHUNK_DOCUMENTS):
            found += unreadable(self._raws, [head for head in chunk if not head.deleted])
        action = "send them again"
        return (
            [StoreProblem(f"{len(found):,} documents are damaged in the store", action, tuple(found))] if found else []
        )

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, in order of acceptance; only of `ids` where given."""
        if ids is not None:
            return self._pending_among(index, list(map(codec.encodable, ids)))[:limit]
        return [(head.id, head.version) for head in self._heads.search(queries.pending(index), "turn", limit)]

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set: a record is accepted only while its version is still the newest.

        The store counts the attempts of a version; the number in the record is ignored.
        """
        accepted: list[bool] = []
        for chunk in codec.batches(records, codec.CHUNK_DOCUMENTS):
            accepted += self._settle(index, chunk)
        return accepted

    def states(self, index: str, state: State, limit: int = 1000, job: str | None = None) -> Sequence[StateRecord]:
        """The records of newest versions in one state, by id; documents without a record are `received`."""
        heads = self._heads.search(queries.in_state(index, state, job), "id", limit)
        kept: dict[str, Row] = {}
        for chunk in codec.batches(heads, codec.CHUNK_DOCUMENTS):
            kept |= self._states.read([state_id(index, head.id) for head in chunk])
        return [record_of(head, state, kept[state_id(index, head.id)]) for head in heads]

    def retry(self, index: str) -> int:
        """Set every failed document back to `received`; returns their number."""
        heads = self._heads.search(queries.failed(index), "id", None)
        for chunk in codec.batches([head.id for head in heads], codec.CHUNK_DOCUMENTS):
            self._heads.alter(chunk, lambda head: head.reopen(index) if index in head.failed else head)
        return len(heads)

    def counts(self, index: str, job: str | None = None) -> StoreCounts:
        """The number of documents in each state; tombstones are counted apart, whatever their state."""
        found = self._heads.table.count(queries.counts(index, job))
        states = {state: found[state.value] for state in State if found[state.value]}
        return StoreCounts(
            sum(states.values()), found[queries.DELETED], states, pending_deletes=found[queries.PENDING_DELETES]
        )

    def oldest(self, index: str) -> float | None:
        """When the oldest change pending for `index` was accepted; None: none is pending."""
        turn = self._heads.table.search(queries.oldest_pending(index))["aggregations"]["turn"]["value"]
        return None if turn is None else turn / 1_000_000

    def keep_job(self, job: Job) -> None:
        """Save a job, replacing its earlier record."""
        self._check()
        self._jobs.put({job.id: asdict(job)})

    def job(self, identifier: str) -> Job | None:
        """A job as it was last saved."""
        kept = self._jobs.read([identifier])[identifier].source
        return Job(**kept) if kept else None

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) in `index` according to its state records, superseded versions included."""
        found = self._states.search(queries.recorded(index))
        return found["hits"]["total"]["value"], int(found["aggregations"]["passages"]["value"])

    def forget(self, index: str) -> None:
        """Remove the state records of an index that was dropped."""
        self._states.remove({"term": {"index": index}})

    def indexes(self) -> Collection[str]:
        """The names of all indexes that documents have states in, whether or not the indexes still exist."""
        listed = [(self._heads.table, "settled"), (self._states, "index")]
        found = [table.search(queries.values(field))["aggregations"]["values"]["buckets"] for table, field in listed]
        return {item["key"] for buckets in found for item in buckets}

    def export(self) -> Iterator[ExportedVersion]:
        """Every document, in a version at least as new as when this begins; see `DocumentStore.export`."""
        return exchange.export(self._heads.table, self._raws)

    def restore(self, versions: Iterable[ExportedVersion]) -> int:
        """Store exported versions under their own version numbers; see `DocumentStore.restore`."""
        return sum(exchange.restore(self._heads.table, self._raws, chunk) for chunk in codec.chunks(versions))

    def purge(self, before: float, indexes: Sequence[str], ids: Collection[str] | None = None) -> Purged:
        """Remove for ever what was replaced or deleted at or before `before`; see `DocumentStore.purge`.

        It reads the ids of all versions, also where only `ids` are wanted.
        """
        tables = (self._heads.table, self._raws, self._states, self._jobs)
        wanted = None if ids is None else list(map(codec.encodable, ids))
        return Purge(*tables, self._erased, self._heads.read).run(before, indexes, wanted)

    def wipe(self) -> None:
        """Let the cluster write segments anew without removed rows. Raises `Unavailable` when some are left."""
        for table in self._tables:
            table.make()
        if left := expunge(self._cluster, [table.name for table in self._tables], _WIPE_SECONDS):
            raise Unavailable(
                f"after {_WIPE_SECONDS:.0f} s {', '.join(left)} still hold removed rows in their segments, perhaps because "
                "others write to them; purge again"
            )

    def seal(self, sealed: bool = True) -> None:
        """Let every process that writes get a `Conflict` from now on, or no longer; reads go on."""
        for table in self._tables:
            table.seal(sealed)

    def close(self) -> None:
        """Nothing to do: what the cluster has acknowledged is durable."""

    # Steps

    def _accept(self, chunk: Sequence[codec.Packed], job: str) -> list[Accepted]:
        """Accept changes in order; documents that another process changed meanwhile are read and tried again."""
        self._check()  # a write would bring an index back that was deleted with its collection
        done: dict[int, Accepted] = {}
        waiting = dict(enumerate(chunk))
        while waiting:
            read = self._heads.read([change.id for change in waiting.values()])
            erased = self._erased.heads([name for name, (head, _) in read.items() if not head.version], self._next_turn)
            read |= {name: (head, read[name][1]) for name, head in erased.items()}
            heads = {identifier: head for identifier, (head, _) in read.items()}
            repeated = [heads[change.id] for change in waiting.values() if is_repeated(heads[change.id], change)]
            again = set(unreadable(self._raws, repeated))
            outcomes, raws = apply_changes(waiting, heads, job, again, self._next_turn)
            self._raws.put(raws)
            changed = {name: (head, read[name][1]) for name, head in heads.items() if head is not read[name][0]}
            # A newer deletion of a purged document brings no tombstone back.
            known = [name for name in erased if name in changed and heads[name].version == erased[name].version]
            self._erased.remember([changed.pop(name)[0] for name in known])
            contended = self._heads.write(changed)
            if any(head.replaces for head, _ in changed.values()):
                self._heads.table.refresh()  # before the acknowledgement: searches ask for what was replaced
            done |= {number: item for number, item in outcomes.items() if item.id not in contended}
            waiting = {number: change for number, change in waiting.items() if change.id in contended}
        return [done[number] for number in range(len(chunk))]

    def _next_turn(self) -> int:
        with self._lock:
            self._turn = max(self._turn + 1, time.time_ns() // 1_000)
            return self._turn

    def _pending_among(self, index: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        heads = [
            head for chunk in codec.batches(ids, codec.CHUNK_DOCUMENTS) for head, _ in self._heads.read(chunk).values()
        ]
        pending = [head for head in heads if head.version and index not in head.settled]
        return [(head.id, head.version) for head in sorted(pending, key=lambda head: head.turn)]

    def _settle(self, index: str, records: Sequence[StateRecord]) -> list[bool]:
        newest: dict[str, bool] = {}
        wanted = {record.id: record for record in records}
        heads = self._heads.read(list(wanted))
        kept = self._states.read([state_id(index, identifier) for identifier in wanted])
        current = [record for record in records if 0 < record.version == heads[record.id][0].version]
        # The record first: after a kill in between the document is still pending, and is indexed again.
        self._states.put(
            {
                state_id(index, record.id): state_row(index, record, kept[state_id(index, record.id)])
                for record in current
            },
            versions={state_id(index, record.id): record.version for record in current},
        )

        def settled(head: Head) -> Head:
            record = wanted[head.id]
            newest[head.id] = head.version == record.version
            return head.settle(index, record.state is State.FAILED) if newest[head.id] else head

        self._heads.alter([record.id for record in current], settled, heads)
        return [newest.get(record.id, False) for record in records]
