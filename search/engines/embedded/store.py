"""The durable store of one collection in SQLite: raw documents by version, tombstones, and states by index.

Any number of processes and threads read and write. When a call returns, its writes survive a kill and a power cut.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from mappings.errors import Damaged
from search.engines import codec
from search.engines.embedded.database import INDEXES, Database
from search.engines.embedded.integrity.records import find_damage, read_newest
from search.engines.embedded.tables import counts, erasure, rows
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

_UNSETTLED: Final = "(s.version IS NULL OR s.version < l.version OR s.state = 'received')"
_EXPORT: Final = (
    "SELECT l.id, l.version, v.raw, l.hash, l.turn, l.source, l.job "
    "FROM latest l LEFT JOIN versions v USING (id, version) ORDER BY l.turn"
)
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
                accepted.extend(rows.accept(database, change, job) for change in chunk)
        return accepted

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A tombstone version for each id; unknown and already deleted ids are `changed=False`."""
        return self._put(codec.pack_deletions(ids), "")

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each known id, tombstones included."""
        found: dict[str, StoredDocument] = {}
        with self._database.read() as database:
            for chunk in codec.batches(map(codec.encodable, ids), codec.CHUNK_DOCUMENTS):
                found.update((stored.id, stored) for stored in read_newest(database, chunk))
        return found

    def newest(self, ids: Collection[str]) -> Mapping[str, int]:
        """The newest version of each document; deleted and unknown ids are absent."""
        found: dict[str, int] = {}
        with self._database.read() as database:
            for chunk in codec.batches(map(codec.encodable, ids), codec.CHUNK_DOCUMENTS):
                marks = ",".join("?" * len(chunk))
                statement = f"SELECT id, version FROM latest WHERE id IN ({marks}) AND hash IS NOT NULL"
                found.update(database.execute(statement, chunk).fetchall())
        return found

    def superseded(self, index: str, limit: int) -> Sequence[str]:
        """At most `limit` ids of documents whose earlier version `index` may still hold; see `DocumentStore.superseded`."""
        statement = (
            "SELECT r.id FROM replaced r JOIN latest l USING (id) LEFT JOIN states s ON s.place = ? AND s.id = r.id "
            "WHERE s.version IS NULL OR s.version < l.version LIMIT ?"
        )
        with self._database.read() as database:
            return [name for (name,) in database.execute(statement, (index, limit)).fetchall()]

    def damage(self) -> Sequence[StoreProblem]:
        """What was changed on the disk; reads the whole file, and mends the counts."""
        return find_damage(self._database, self.path.parent.name)

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
            settled = [rows.settle(database, index, record) for record in records]
            rows.forget_replaced(
                database, [item.id for item, is_newest in zip(records, settled, strict=True) if is_newest]
            )
            return settled

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
        with self._database.read() as database:
            return counts.read(database, index, job)

    def oldest(self, index: str) -> float | None:
        """When the oldest change pending for `index` was accepted; None: none is pending."""
        with self._database.read() as database:
            found = counts.read(database, index)
            # Most of the time few wait, and those are among the newest: reading from there ends after the last of them.
            few = 2 * found.waiting < found.documents + found.deleted
            order, limit = ("DESC", found.waiting) if few else ("ASC", 1)
            waiting = f"SELECT l.turn FROM {_JOINED} WHERE {_UNSETTLED} ORDER BY l.turn {order} LIMIT ?"
            row = database.execute(f"SELECT MIN(turn) FROM ({waiting})", (index, limit)).fetchone()
        return None if row[0] is None else row[0] / 1_000_000

    def keep_job(self, job: Job) -> None:
        """Save a job, replacing its earlier record."""
        with self._database.write() as database:
            database.execute("INSERT OR REPLACE INTO jobs(id, record) VALUES (?, ?)", (job.id, json.dumps(asdict(job))))

    def job(self, identifier: str) -> Job | None:
        """A job as it was last saved."""
        with self._database.read() as database:
            row = database.execute("SELECT record FROM jobs WHERE id = ?", (identifier,)).fetchone()
        try:
            return Job(**json.loads(row[0])) if row else None
        except (ValueError, TypeError) as error:
            raise Damaged(f"the record of the job {identifier!r} is damaged in the store", field="job") from error

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) in `index` according to its state records, superseded versions included."""
        with self._database.read() as database:
            statement = "SELECT COUNT(*), IFNULL(SUM(passages), 0) FROM states WHERE place = ? AND passages > 0"
            row: tuple[int, int] = database.execute(statement, (index,)).fetchone()
        return row

    def forget(self, index: str) -> None:
        """Remove the state records of an index that was dropped."""
        with self._database.write() as database:
            counts.forget(database, index)
            database.execute("DELETE FROM states WHERE place = ?", (index,))
            replaced = [name for (name,) in database.execute("SELECT id FROM replaced").fetchall()]
            rows.forget_replaced(database, replaced)

    def indexes(self) -> Collection[str]:
        """The names of all indexes that documents have states in, whether or not the indexes still exist."""
        with self._database.read() as database:
            return {place for (place,) in database.execute(INDEXES)}

    def export(self) -> Iterator[ExportedVersion]:
        """Every document's newest version as of this moment, in order of acceptance; see `DocumentStore.export`."""
        # A connection of its own: this thread may use the store between two documents.
        with Database(self.path).read() as database:
            for key, version, raw, fingerprint, turn, source, job in database.execute(_EXPORT):
                content = None if fingerprint is None else codec.content_of(key, raw, fingerprint)
                yield ExportedVersion(key, version, content, turn, source, job)

    def restore(self, versions: Iterable[ExportedVersion]) -> int:
        """Store exported versions under their own version numbers; see `DocumentStore.restore`."""
        count = 0
        for chunk in codec.chunks(versions):
            with self._database.write() as database:
                for item in chunk:
                    rows.restore(database, item)
            count += len(chunk)
        return count

    def purge(self, before: float, indexes: Sequence[str], ids: Collection[str] | None = None) -> Purged:
        """Remove for ever what was replaced or deleted at or before `before`; see `DocumentStore.purge`."""
        wanted = None if ids is None else list(map(codec.encodable, ids))
        return erasure.purge(self._database, before, indexes, wanted)

    def wipe(self) -> None:
        """Write the file anew, and empty its write-ahead log. Raises `Unavailable` where others keep them in use.

        Removed rows were overwritten when they were removed, but SQLite can have copied them within a page before.
        """
        self._database.vacuum()

    def seal(self, sealed: bool = True) -> None:
        """Let every process that writes get a `Conflict` from now on, or no longer; reads go on."""
        self._database.seal(sealed)

    def close(self) -> None:
        """Empty the write-ahead log into the file, unless others are using it at this moment."""
        self._database.checkpoint()
