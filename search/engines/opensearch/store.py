"""The durable store of one collection on the cluster: raw documents, the newest version of each, and states by index.

Three indexes. `versions` holds raw documents, written once each. `documents` holds a head for each document: its newest
version, and in `settled` the indexes that this version was carried out in; whoever changes a head compares-and-sets.
`states` holds the record of each document in each index. What is pending or failed is a query on heads.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from mappings.documents import Document
from mappings.errors import Unavailable
from search.engines import codec
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.heads import Head, head_of, next_head
from search.engines.opensearch.records import safe_id
from search.engines.opensearch.tables import Row, Table
from search.storage import (
    Accepted,
    Change,
    Job,
    State,
    StateRecord,
    StoreCounts,
    StoredDocument,
    is_stale,
)

_PAGE: Final = 5_000
_HEAD: Final[dict[str, Any]] = {
    "id": {"type": "keyword"},
    "turn": {"type": "long"},
    "deleted": {"type": "boolean"},
    "settled": {"type": "keyword"},
    "failed": {"type": "keyword"},
    "job": {"type": "keyword"},
}
_STATE: Final[dict[str, Any]] = {"index": {"type": "keyword"}, "passages": {"type": "integer"}}


class OpenSearchStore:
    """A `DocumentStore` in three indexes of the cluster; threads and processes share it."""

    def __init__(self, cluster: Cluster, collection: str, shards: int = 1) -> None:
        def table(name: str, properties: dict[str, Any]) -> Table:
            return Table(cluster, cluster.name("store", collection, name), properties, shards)

        self._heads = table("documents", _HEAD)
        self._raws = table("versions", {})
        self._states = table("states", _STATE)
        self._jobs = table("jobs", {})
        self._turn = 0
        self._lock = threading.Lock()

    def put(self, changes: Iterable[Change], job: str = "") -> Sequence[Accepted]:
        """Give each document its next version, a few hundred at a time; see `DocumentStore.put`.

        An error in the middle leaves every earlier part accepted; putting all again is harmless.
        """
        return [item for chunk in codec.chunks(codec.packed(changes)) for item in self._change(chunk, job)]

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A tombstone version for each id; unknown and already deleted ids are `changed=False`."""
        changes = (codec.Packed(codec.encodable(identifier)) for identifier in ids)
        return [item for chunk in codec.chunks(changes) for item in self._change(chunk, "")]

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each id that is known, tombstones included."""
        found: dict[str, StoredDocument] = {}
        for chunk in _batches(list(map(codec.encodable, ids)), codec.CHUNK_DOCUMENTS):
            heads = [head for head, _ in self._read(chunk).values() if head.version]
            raws = self._raws.read([head.raw for head in heads if not head.deleted])
            for head in heads:
                document = None if head.deleted else self._present(head, raws[head.raw])
                found[head.id] = StoredDocument(head.id, head.version, document)
        return found

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, in the order of acceptance; or of `ids` alone."""
        if ids is not None:
            return self._unsettled(index, list(map(codec.encodable, ids)))[:limit]
        query = {"bool": {"must_not": [{"term": {"settled": index}}]}}
        return [(head.id, head.version) for head in self._search(query, "turn", limit)]

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set: a record is taken only while its version is still the newest.

        Attempts at a version are counted here; the number in the record is not read.
        """
        taken: list[bool] = []
        for chunk in _batches(records, codec.CHUNK_DOCUMENTS):
            taken += self._settle(index, chunk)
        return taken

    def states(self, index: str, state: State, limit: int = 1000, job: str | None = None) -> Sequence[StateRecord]:
        """The records of newest versions in one state, by id; documents without a record are `received`."""
        settled, failed = {"term": {"settled": index}}, {"term": {"failed": index}}
        clauses: dict[str, list[dict[str, Any]]] = {
            State.RECEIVED: {"filter": [], "must_not": [settled]},
            State.FAILED: {"filter": [settled, failed]},
            State.INDEXED: {"filter": [settled], "must_not": [failed]},
        }[state]
        if job is not None:
            clauses["filter"].append({"term": {"job": job}})
        heads = self._search({"bool": clauses}, "id", limit)
        kept: dict[str, Row] = {}
        for chunk in _batches(heads, codec.CHUNK_DOCUMENTS):
            kept |= self._states.read([_state_id(index, head.id) for head in chunk])
        return [_record(head, state, kept[_state_id(index, head.id)]) for head in heads]

    def retry(self, index: str) -> int:
        """Put every failed document back to `received`; how many there were."""
        query = {"bool": {"filter": [{"term": {"failed": index}}]}}
        heads = self._search(query, "id", None)
        for chunk in _batches([head.id for head in heads], codec.CHUNK_DOCUMENTS):
            self._alter(chunk, lambda head: head.reopen(index) if index in head.failed else head)
        return len(heads)

    def counts(self, index: str, job: str | None = None) -> StoreCounts:
        """How many documents stand where; tombstones are counted apart, wherever they stand."""
        deleted, settled, failed = (
            {"term": {"deleted": True}},
            {"term": {"settled": index}},
            {"term": {"failed": index}},
        )
        groups: dict[str, dict[str, Any]] = {
            "deleted": {"filter": [deleted]},
            "unburied": {"filter": [deleted], "must_not": [settled]},
            State.RECEIVED.value: {"must_not": [deleted, settled]},
            State.FAILED.value: {"filter": [settled, failed], "must_not": [deleted]},
            State.INDEXED.value: {"filter": [settled], "must_not": [deleted, failed]},
        }
        body = {"size": 0, "aggs": {name: {"filter": {"bool": clauses}} for name, clauses in groups.items()}}
        if job is not None:
            body["query"] = {"term": {"job": job}}
        answer = self._heads.search(body)["aggregations"]
        found = {name: answer[name]["doc_count"] for name in groups}
        states = {state: found[state.value] for state in State if found[state.value]}
        return StoreCounts(sum(states.values()), found["deleted"], states, found["unburied"])

    def oldest(self, index: str) -> float | None:
        """When the oldest change that `index` has not seen was accepted; None: it has seen all."""
        waiting = {"bool": {"must_not": [{"term": {"settled": index}}]}}
        found = self._heads.search({"size": 0, "query": waiting, "aggs": {"turn": {"min": {"field": "turn"}}}})
        turn = found["aggregations"]["turn"]["value"]
        return None if turn is None else turn / 1_000_000

    def keep_job(self, job: Job) -> None:
        """Write down a job, in the place of what was written of it before."""
        self._jobs.put({job.id: asdict(job)})

    def job(self, identifier: str) -> Job | None:
        """A job as it was last written down."""
        kept = self._jobs.read([identifier])[identifier].source
        return Job(**kept) if kept else None

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) that `index` holds by its records, also of versions superseded since."""
        standing = [{"term": {"index": index}}, {"range": {"passages": {"gt": 0}}}]
        body = {
            "size": 0,
            "track_total_hits": True,
            "query": {"bool": {"filter": standing}},
            "aggs": {"passages": {"sum": {"field": "passages"}}},
        }
        found = self._states.search(body)
        return found["hits"]["total"]["value"], int(found["aggregations"]["passages"]["value"])

    def forget(self, index: str) -> None:
        """Drop the states of an index that is gone for good."""
        self._states.remove({"term": {"index": index}})

    # Steps

    def _change(self, chunk: Sequence[codec.Packed], job: str) -> list[Accepted]:
        """Accept changes in order; what somebody else changed meanwhile is read and tried again."""
        done: dict[int, Accepted] = {}
        waiting = list(enumerate(chunk))
        while waiting:
            read = self._read([change.id for _, change in waiting])
            heads = {identifier: head for identifier, (head, _) in read.items()}
            raws: dict[str, dict[str, Any]] = {}
            outcomes: dict[int, Accepted] = {}
            for number, change in waiting:
                head = heads[change.id]
                made = next_head(head, change, job, self._next_turn)
                stale = is_stale(head.source_version, change.source)
                outcomes[number] = Accepted(change.id, made.version, made.version != head.version, stale)
                if made.version != head.version and change.content is not None:
                    packed = base64.b64encode(codec.pack(change.content)).decode()
                    raws[made.raw] = {"id": change.id, "version": made.version, "raw": packed}
                heads[change.id] = made
            self._raws.put(raws)
            lost = self._write(
                {name: (head, read[name][1]) for name, head in heads.items() if head is not read[name][0]}
            )
            done |= {number: item for number, item in outcomes.items() if item.id not in lost}
            waiting = [(number, item) for number, item in waiting if item.id in lost]
        return [done[number] for number in range(len(chunk))]

    def _present(self, head: Head, row: Row) -> Document:
        if row.source is None:  # not a deletion: it would be carried out in the index
            raise Unavailable(
                f"the store lacks version {head.version} of {head.id!r}: bring back {self._raws.name} from a snapshot, or "
                "send the document again"
            )
        return codec.load(codec.unpack(base64.b64decode(row.source["raw"])))

    def _next_turn(self) -> int:
        with self._lock:
            self._turn = max(self._turn + 1, time.time_ns() // 1_000)
            return self._turn

    def _unsettled(self, index: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        heads = [head for chunk in _batches(ids, codec.CHUNK_DOCUMENTS) for head, _ in self._read(chunk).values()]
        waiting = [head for head in heads if head.version and index not in head.settled]
        return [(head.id, head.version) for head in sorted(waiting, key=lambda head: head.turn)]

    def _settle(self, index: str, records: Sequence[StateRecord]) -> list[bool]:
        newest: dict[str, bool] = {}
        wanted = {record.id: record for record in records}
        heads = self._read(list(wanted))
        kept = self._states.read([_state_id(index, identifier) for identifier in wanted])
        current = [record for record in records if 0 < record.version == heads[record.id][0].version]
        # The record first: a kill in between leaves the document pending, and it is done again.
        self._states.put(
            {
                _state_id(index, record.id): _state(index, record, kept[_state_id(index, record.id)])
                for record in current
            },
            versions={_state_id(index, record.id): record.version for record in current},
        )

        def settled(head: Head) -> Head:
            record = wanted[head.id]
            newest[head.id] = head.version == record.version
            return head.settle(index, record.state is State.FAILED) if newest[head.id] else head

        self._alter([record.id for record in current], settled, heads)
        return [newest.get(record.id, False) for record in records]

    def _alter(
        self, ids: Sequence[str], step: Callable[[Head], Head], read: Mapping[str, tuple[Head, Row]] | None = None
    ) -> None:
        """Put what `step` makes of each head in its place, again until nobody else came between."""
        waiting, known = list(ids), read
        while waiting:
            known = known or self._read(waiting)
            made = {name: (step(known[name][0]), known[name][1]) for name in waiting}
            waiting = list(self._write({name: item for name, item in made.items() if item[0] != known[name][0]}))
            known = None

    def _read(self, ids: Sequence[str]) -> dict[str, tuple[Head, Row]]:
        rows = self._heads.read([safe_id(identifier) for identifier in ids])
        return {
            identifier: (head_of(rows[safe_id(identifier)], identifier), rows[safe_id(identifier)])
            for identifier in ids
        }

    def _write(self, heads: Mapping[str, tuple[Head, Row]]) -> set[str]:
        """Compare-and-set heads against the rows that were read; the ids of those that somebody else changed."""
        lost = self._heads.swap({safe_id(name): (head.source(), row) for name, (head, row) in heads.items()})
        names = [name for name in heads if safe_id(name) in lost]
        # An answer that was lost on its way makes a write of our own look like somebody else's.
        return {name for name, (head, _) in self._read(names).items() if head != heads[name][0]} if names else set()

    def _search(self, query: Mapping[str, Any], order: str, limit: int | None) -> list[Head]:
        rows = self._heads.scan(query, order, limit, _PAGE)
        return [head_of(row, row.source["id"]) for row in rows if row.source is not None]


def _state_id(index: str, identifier: str) -> str:
    return safe_id(f"{index}/{identifier}")


def _state(index: str, record: StateRecord, kept: Row) -> dict[str, Any]:
    before = kept.source or {}
    attempts = before["attempts"] + 1 if before.get("version") == record.version else 1
    return {
        "index": index,
        "id": record.id,
        "version": record.version,
        "state": record.state.value,
        "passages": record.passages,
        "attempts": attempts,
        "cause": record.cause,
    }


def _record(head: Head, state: State, row: Row) -> StateRecord:
    kept = row.source or {}
    return StateRecord(
        head.id, head.version, state, kept.get("passages", 0), kept.get("attempts", 0), kept.get("cause", "")
    )


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
