"""The durable store of one collection in SQLite: raw documents by version, tombstones, and states by index.

Any number of processes and threads may read and write. Write-ahead logging with full synchronisation:
when a call returns, what it wrote survives a kill and a power cut.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from mappings.documents import Document
from mappings.errors import Conflict, MedleyError, Unavailable
from search.engines import codec
from search.engines.embedded.layout import is_full
from search.storage import Accepted, State, StateRecord, StoreCounts, StoredDocument

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS versions(
    id TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB, PRIMARY KEY(id, version));
CREATE TABLE IF NOT EXISTS latest(
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, turn INTEGER NOT NULL, hash BLOB) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS latest_turn ON latest(turn);
CREATE TABLE IF NOT EXISTS states(
    place TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
    passages INTEGER NOT NULL, attempts INTEGER NOT NULL, cause TEXT NOT NULL, PRIMARY KEY(place, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS states_state ON states(place, state);
"""
# `turn` is the order of acceptance; a tombstone is a version without raw bytes, and has no hash.

FORM: Final = 1
"""The version of the tables; another one is refused."""

_BUSY_SECONDS: Final = 60.0
_UNSETTLED: Final = "(s.version IS NULL OR s.version < l.version OR s.state = 'received')"
_JOINED: Final = "latest l LEFT JOIN states s ON s.place = ? AND s.id = l.id"


class EmbeddedStore:
    """A `DocumentStore` in `<folder>/store.sqlite`; the folder is made when it is missing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.sqlite"
        self._local = threading.local()
        with _translated(self.path):
            folder.mkdir(parents=True, exist_ok=True)
        with self._read() as database:
            form = database.execute("PRAGMA user_version").fetchone()[0]
        if form == 0:
            with self._write() as database:
                for statement in (*_SCHEMA.split(";"), f"PRAGMA user_version = {FORM}"):
                    database.execute(statement)
        elif form != FORM:
            raise Conflict(f"{self.path.name} has form {form}, this version reads {FORM}", field=self.path.name)

    def put(self, documents: Iterable[Document]) -> Sequence[Accepted]:
        """Give each document its next version, a few hundred in one transaction; the same content changes nothing.

        An error in the middle leaves every earlier transaction accepted; putting all again is harmless.
        """
        accepted: list[Accepted] = []
        for chunk in codec.chunks((document.id, codec.dump(document)) for document in documents):
            with self._write() as database:
                accepted.extend(_accept(database, identifier, content) for identifier, content in chunk)
        return accepted

    def delete(self, ids: Iterable[str]) -> Sequence[Accepted]:
        """A tombstone version for each id; unknown and already deleted ids are `changed=False`."""
        accepted: list[Accepted] = []
        for chunk in _batches(map(codec.encodable, ids), codec.CHUNK_DOCUMENTS):
            with self._write() as database:
                accepted.extend(_bury(database, identifier) for identifier in chunk)
        return accepted

    def latest(self, ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The newest version of each id that is known, tombstones included."""
        found: dict[str, StoredDocument] = {}
        with self._read() as database:
            for chunk in _batches(map(codec.encodable, ids), codec.CHUNK_DOCUMENTS):
                marks = ",".join("?" * len(chunk))
                rows = database.execute(
                    f"SELECT id, version, raw FROM latest JOIN versions USING (id, version) WHERE id IN ({marks})",
                    chunk,
                )
                found.update((key, StoredDocument(key, version, _document(raw))) for key, version, raw in rows)
        return found

    def pending(self, index: str, limit: int, ids: Collection[str] | None = None) -> Sequence[tuple[str, int]]:
        """(id, version) of newest versions not yet settled in `index`, in the order of acceptance; or of `ids` alone.

        Every unsettled tombstone is among them: a kill between an index's commit and the state record
        leaves no trace that a document was indexed, so its deletion must reach the index all the same.
        """
        among, values = "", [index]
        if ids is not None:
            among = "AND l.id IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(map(codec.encodable, ids))))
        statement = f"SELECT l.id, l.version FROM {_JOINED} WHERE {_UNSETTLED} {among} ORDER BY l.turn LIMIT ?"
        with self._read() as database:
            return database.execute(statement, (*values, limit)).fetchall()

    def settle(self, index: str, records: Sequence[StateRecord]) -> Sequence[bool]:
        """Compare-and-set, in one transaction: a record is taken only while its version is still the newest.

        Attempts at a version are counted here; the number in the record is not read.
        """
        with self._write() as database:
            return [_settle(database, index, record) for record in records]

    def states(self, index: str, state: State, limit: int = 1000) -> Sequence[StateRecord]:
        """The records of newest versions in one state, by id; documents without a record are `received`."""
        condition = _UNSETTLED if state is State.RECEIVED else "s.state = ? AND s.version = l.version"
        values = (index, limit) if state is State.RECEIVED else (index, state.value, limit)
        with self._read() as database:
            rows = database.execute(
                "SELECT l.id, l.version, IFNULL(s.passages, 0), IFNULL(s.attempts, 0), IFNULL(s.cause, '') "
                f"FROM {_JOINED} WHERE {condition} ORDER BY l.id LIMIT ?",
                values,
            ).fetchall()
        return [
            StateRecord(key, version, state, passages, tries, cause) for key, version, passages, tries, cause in rows
        ]

    def retry(self, index: str) -> int:
        """Put every failed document back to `received`; how many there were."""
        with self._write() as database:
            statement = "UPDATE states SET state = 'received' WHERE place = ? AND state = 'failed'"
            return database.execute(statement, (index,)).rowcount

    def counts(self, index: str) -> StoreCounts:
        """How many documents stand where; tombstones are counted apart, wherever they stand."""
        with self._read() as database:
            rows = database.execute(
                f"SELECT l.hash IS NULL, CASE WHEN {_UNSETTLED} THEN 'received' ELSE s.state END, COUNT(*) "
                f"FROM {_JOINED} GROUP BY 1, 2",
                (index,),
            ).fetchall()
        states = {State(state): count for deleted, state, count in rows if not deleted}
        return StoreCounts(
            documents=sum(states.values()), deleted=sum(count for deleted, _, count in rows if deleted), states=states
        )

    def recorded(self, index: str) -> tuple[int, int]:
        """(documents, passages) that `index` holds by its records, also of versions superseded since."""
        with self._read() as database:
            statement = "SELECT COUNT(*), IFNULL(SUM(passages), 0) FROM states WHERE place = ? AND passages > 0"
            row: tuple[int, int] = database.execute(statement, (index,)).fetchone()
        return row

    def forget(self, index: str) -> None:
        """Drop the states of an index that is gone for good."""
        with self._write() as database:
            database.execute("DELETE FROM states WHERE place = ?", (index,))

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with _translated(self.path), _transaction(self._connection(), "BEGIN") as database:
            yield database

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with _translated(self.path), _transaction(self._connection(), "BEGIN IMMEDIATE") as database:
            yield database

    def _connection(self) -> sqlite3.Connection:
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None or handle.process != os.getpid():
            handle = self._local.handle = _Handle(self.path)
        return handle.database


class _Handle:
    """A connection of one thread of one process; SQLite's own may not be carried across a fork."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        self.database = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        # Not __del__: in a cycle that is collected as one, the connection's own end may come first, which warns.
        weakref.finalize(self, _close, self.database, self.process)
        self._prepare(time.monotonic() + _BUSY_SECONDS)

    def _prepare(self, until: float) -> None:
        try:
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "journal_size_limit = 67108864"):
                self.database.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself when two processes turn a new file to write-ahead logging at once.
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
            time.sleep(0.01)
            self._prepare(until)


def _close(database: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        database.close()


@contextmanager
def _transaction(database: sqlite3.Connection, begin: str) -> Iterator[sqlite3.Connection]:
    database.execute(begin)
    try:
        yield database
        database.execute("COMMIT")
    finally:
        # SQLite itself rolls back when the disk is full, so there may be nothing left to roll back.
        if database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except MedleyError:
        raise
    except (sqlite3.Error, OSError) as error:
        if is_full(error):
            message = f"{path.name}: the disk is full or takes no more; make room and send it again, nothing accepted before is lost"
        elif "locked" in str(error):
            message = f"{path.name}: other processes kept the store busy for {_BUSY_SECONDS:.0f} s; try again"
        else:
            message = f"{path.name}: {error}"
        raise Unavailable(message, field=path.name) from error


def _accept(database: sqlite3.Connection, identifier: str, content: bytes) -> Accepted:
    fingerprint = codec.digest(content)
    known = _newest(database, identifier)
    if known and known[1] == fingerprint:
        return Accepted(identifier, known[0], changed=False)
    version = known[0] + 1 if known else 1
    _append(database, identifier, version, codec.pack(content), fingerprint)
    return Accepted(identifier, version, changed=True)


def _bury(database: sqlite3.Connection, identifier: str) -> Accepted:
    known = _newest(database, identifier)
    if known is None or known[1] is None:
        return Accepted(identifier, known[0] if known else 0, changed=False)
    _append(database, identifier, known[0] + 1, None, None)
    return Accepted(identifier, known[0] + 1, changed=True)


def _newest(database: sqlite3.Connection, identifier: str) -> tuple[int, bytes | None] | None:
    row: tuple[int, bytes | None] | None = database.execute(
        "SELECT version, hash FROM latest WHERE id = ?", (identifier,)
    ).fetchone()
    return row


def _append(
    database: sqlite3.Connection, identifier: str, version: int, raw: bytes | None, hashed: bytes | None
) -> None:
    database.execute("INSERT INTO versions VALUES (?, ?, ?)", (identifier, version, raw))
    database.execute(
        "INSERT OR REPLACE INTO latest VALUES (?, ?, (SELECT IFNULL(MAX(turn), 0) + 1 FROM latest), ?)",
        (identifier, version, hashed),
    )


def _settle(database: sqlite3.Connection, index: str, record: StateRecord) -> bool:
    key = (index, record.id, record.version)
    taken = database.execute(
        "INSERT OR REPLACE INTO states SELECT ?, id, version, ?, ?, 1 + IFNULL("
        "(SELECT attempts FROM states WHERE place = ? AND id = ? AND version = ?), 0), ? "
        "FROM latest WHERE id = ? AND version = ?",
        (index, record.state.value, record.passages, *key, record.cause, record.id, record.version),
    )
    return taken.rowcount > 0


def _document(raw: bytes | None) -> Document | None:
    return codec.load(codec.unpack(raw)) if raw is not None else None


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
