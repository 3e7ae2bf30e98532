"""The durable store of one collection in SQLite: raw documents by version, tombstones, and states by index.

Any number of processes and threads read and write. When a call returns, its writes survive a kill and a power cut.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from mappings.documents import Document
from search.engines import codec
from search.engines.embedded import erasure
from search.engines.embedded.database import Database
from search.storage import (
    Accepted,
    Change,
    Job,
    Purged,
    State,
    StateRecord,
    StoreCounts,
    StoredDocument,
    is_stale,
    next_source,
)

_UNSETTLED: Final = "(s.version IS NULL OR s.version < l.version OR s.state = 'received')"
_JOINED: Final = "latest l LEFT JOIN states s ON s.place = ? AND s.id = l.id"


class EmbeddedStore:
    """A `DocumentStore` in `<folder>/store.sqlite`; the folder is created if missing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.sqlite"
        self._database = Database(self.path)

    def put(self, changes: Iterable[Change], job: str = "") -> Sequence[Accepted]:
        """Give each document its next version, a few hundred in one transaction; see `DocumentStore.put`.

        An error in the middle leaves every earlier transaction accepted; repeating the whole call is harmless.
        """
        return self._put(codec.pack_changes(changes), job)

    def _put(self, changes: Iterable[codec.Packed], job: str) -> list[Accepted]:
        accepted: list[Accepted] = []
        for chunk in codec.chunks(changes):
            with self._database.write() as database:
                accepted.extend(_accept(database, change, job) for change in chunk)
        return accepted

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A tombstone version for each id; unknown and already deleted ids are `changed=False`."""
        return self._put(codec.pack_deletions(ids), "")

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each known id, tombstones included."""
        found: dict[str, StoredDocument] = {}
        with self._database.read() as database:
            for chunk in codec.batches(map(codec.encodable, ids), codec.CHUNK_DOCUMENTS):
                marks = ",".join("?" * len(chunk))
                rows = database.execute(
                    f"SELECT id, version, raw FROM latest JOIN versions USING (id, version) WHERE id IN ({marks})",
                    chunk,
                )
                found.update((key, StoredDocument(key, version, _document(raw))) for key, version, raw in rows)
        return found

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, in order of acceptance; only of `ids` where given.

        Every unsettled tombstone is included: a kill between an index's commit and the state record leaves no trace that
        a document was indexed, so its deletion must reach the index in any case.
        """
        among, values = "", [index]
        if ids is not None:
            among = "AND l.id IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(map(codec.encodable, ids))))
        statement = f"SELECT l.id, l.version FROM {_JOINED} WHERE {_UNSETTLED} {among} ORDER BY l.turn LIMIT ?"
        with self._database.read() as database:
            return database.execute(statement, (*values, limit)).fetchall()

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set, in one transaction: a record is accepted only while its version is still the newest.

        The store counts the attempts of a version; the number in the record is ignored.
        """
        with self._database.write() as database:
            return [_settle(database, index, record) for record in records]

    def states(self, index: str, state: State, limit: int = 1000, job: str | None = None) -> Sequence[StateRecord]:
        """The records of newest versions in one state, by id; documents without a record are `received`."""
        condition = _UNSETTLED if state is State.RECEIVED else "s.state = ? AND s.version = l.version"
        values: list[str | int] = [index] if state is State.RECEIVED else [index, state.value]
        if job is not None:
            condition, values = f"{condition} AND l.job = ?", [*values, job]
        with self._database.read() as database:
            rows = database.execute(
                "SELECT l.id, l.version, IFNULL(s.passages, 0), IFNULL(s.attempts, 0), IFNULL(s.cause, '') "
                f"FROM {_JOINED} WHERE {condition} ORDER BY l.id LIMIT ?",
                (*values, limit),
            ).fetchall()
        return [
            StateRecord(key, version, state, passages, tries, cause) for key, version, passages, tries, cause in rows
        ]

    def retry(self, index: str) -> int:
        """Set every failed document back to `received`; returns their number."""
        with self._database.write() as database:
            statement = "UPDATE states SET state = 'received' WHERE place = ? AND state = 'failed'"
            return database.execute(statement, (index,)).rowcount

    def counts(self, index: str, job: str | None = None) -> StoreCounts:
        """The number of documents in each state; tombstones are counted apart, whatever their state."""
        condition, values = ("", (index,)) if job is None else ("WHERE l.job = ?", (index, job))
        with self._database.read() as database:
            rows = database.execute(
                f"SELECT l.hash IS NULL, CASE WHEN {_UNSETTLED} THEN 'received' ELSE s.state END, COUNT(*) "
                f"FROM {_JOINED} {condition} GROUP BY 1, 2",
                values,
            ).fetchall()
        states = {State(state): count for deleted, state, count in rows if not deleted}
        deletions = {State(state): count for deleted, state, count in rows if deleted}
        pending_deletes = deletions.get(State.RECEIVED, 0)
        return StoreCounts(sum(states.values()), sum(deletions.values()), states, pending_deletes)

    def oldest(self, index: str) -> float | None:
        """When the oldest change pending for `index` was accepted; None: none is pending."""
        with self._database.read() as database:
            row = database.execute(f"SELECT MIN(l.turn) FROM {_JOINED} WHERE {_UNSETTLED}", (index,)).fetchone()
        return None if row[0] is None else row[0] / 1_000_000

    def keep_job(self, job: Job) -> None:
        """Save a job, replacing its earlier record."""
        with self._database.write() as database:
            database.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?)", (job.id, json.dumps(asdict(job))))

    def job(self, identifier: str) -> Job | None:
        """A job as it was last saved."""
        with self._database.read() as database:
            row = database.execute("SELECT record FROM jobs WHERE id = ?", (identifier,)).fetchone()
        return Job(**json.loads(row[0])) if row else None

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) in `index` according to its state records, superseded versions included."""
        with self._database.read() as database:
            statement = "SELECT COUNT(*), IFNULL(SUM(passages), 0) FROM states WHERE place = ? AND passages > 0"
            row: tuple[int, int] = database.execute(statement, (index,)).fetchone()
        return row

    def forget(self, index: str) -> None:
        """Remove the state records of an index that was dropped."""
        with self._database.write() as database:
            database.execute("DELETE FROM states WHERE place = ?", (index,))

    def purge(self, before: float, indexes: Sequence[str], ids: Collection[str] | None = None) -> Purged:
        """Remove for ever what was replaced or deleted at or before `before`; see `DocumentStore.purge`."""
        wanted = None if ids is None else list(map(codec.encodable, ids))
        return erasure.purge(self._database, before, indexes, wanted)

    def wipe(self) -> None:
        """Write the file anew, and empty its write-ahead log. Raises `Unavailable` where others keep them in use.

        Removed rows were overwritten when they were removed, but SQLite can have copied them within a page before.
        """
        self._database.vacuum()

    def close(self) -> None:
        """Empty the write-ahead log into the file, unless others are using it at this moment."""
        self._database.checkpoint()


def _accept(database: sqlite3.Connection, change: codec.Packed, job: str) -> Accepted:
    row = database.execute("SELECT version, hash, source FROM latest WHERE id = ?", (change.id,)).fetchone()
    erased = None if row else erasure.remembered(database, change.id)
    version, known, source = row or erased or (0, None, None)
    if is_stale(source, change.source):
        return Accepted(change.id, version, changed=False, stale=True)
    newest = next_source(source, change.source)
    fingerprint = None if change.content is None else codec.digest(change.content)
    # Deleting an unknown id changes nothing, except with a source version: an older copy can still arrive.
    if known == fingerprint and (version or newest is None):
        if newest is not None and newest != source:
            _note_source(database, change.id, version, newest, erased is not None)
        return Accepted(change.id, version, changed=False)
    packed = None if change.content is None else codec.pack(change.content)
    database.execute("INSERT INTO versions VALUES (?, ?, ?)", (change.id, version + 1, packed))
    database.execute(
        "INSERT OR REPLACE INTO latest VALUES (?, ?, (SELECT MAX(IFNULL(MAX(turn), 0) + 1, ?) FROM latest), ?, ?, ?)",
        (change.id, version + 1, time.time_ns() // 1_000, fingerprint, newest, job),
    )
    if row:
        database.execute("INSERT INTO superseded SELECT turn, id, ? FROM latest WHERE id = ?", (version, change.id))
    return Accepted(change.id, version + 1, changed=True)


def _note_source(database: sqlite3.Connection, identifier: str, version: int, source: int, erased: bool) -> None:
    if erased:
        erasure.remember(database, identifier, version, source)
    else:
        database.execute("UPDATE latest SET source = ? WHERE id = ?", (source, identifier))


def _settle(database: sqlite3.Connection, index: str, record: StateRecord) -> bool:
    key = (index, record.id, record.version)
    written = database.execute(
        "INSERT OR REPLACE INTO states SELECT ?, id, version, ?, ?, 1 + IFNULL("
        "(SELECT attempts FROM states WHERE place = ? AND id = ? AND version = ?), 0), ? "
        "FROM latest WHERE id = ? AND version = ?",
        (index, record.state.value, record.passages, *key, record.cause, record.id, record.version),
    )
    return written.rowcount > 0


def _document(raw: bytes | None) -> Document | None:
    return codec.load(codec.unpack(raw)) if raw is not None else None
