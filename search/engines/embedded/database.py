"""A store's SQLite file: its tables and migrations, a connection for each thread, transactions, our errors.

Write-ahead logging with full synchronisation: the writes of a finished transaction survive a kill and a power cut.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.errors import Conflict, Damaged, MedleyError, Unavailable
from search.engines.embedded.integrity.rows import migration, register
from search.engines.embedded.layout import is_full
from search.engines.embedded.tables import counts

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS versions(
    id TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB, PRIMARY KEY(id, version));
CREATE TABLE IF NOT EXISTS latest(
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, turn INTEGER NOT NULL, hash BLOB, source INTEGER,
    job TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs(id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS latest_turn ON latest(turn);
CREATE INDEX IF NOT EXISTS latest_job ON latest(job);
CREATE TABLE IF NOT EXISTS states(
    place TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
    passages INTEGER NOT NULL, attempts INTEGER NOT NULL, cause TEXT NOT NULL, PRIMARY KEY(place, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS states_state ON states(place, state)
"""
# `turn` orders changes by acceptance, in microseconds since 1970. A tombstone is a version without raw bytes, and has no
# hash. `source` is the source version, `job` the delivery that brought the newest version. `replaced` has the documents of
# which some index may still hold an earlier version: a search asks for them every time, so they are few and apart. Version 3
# adds it, and checksums; version 4 adds counts.

SCHEMA_VERSION: Final = 4
"""The version of the tables (`user_version`); a higher one is rejected, a lower one migrated."""

_FROM_VERSION_1: Final = """
ALTER TABLE latest ADD COLUMN source INTEGER;
ALTER TABLE latest ADD COLUMN job TEXT NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS latest_job ON latest(job);
CREATE TABLE IF NOT EXISTS jobs(id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID
"""

_FROM_VERSION_2: Final = """
CREATE TABLE IF NOT EXISTS replaced(id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO replaced SELECT DISTINCT s.id FROM states s JOIN latest l USING (id) WHERE s.version < l.version;
CREATE TABLE IF NOT EXISTS superseded(
    turn INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY(turn, id, version)) WITHOUT ROWID;
INSERT INTO superseded SELECT l.turn, v.id, v.version FROM versions v JOIN latest l USING (id) WHERE v.version < l.version;
CREATE TABLE IF NOT EXISTS erased(
    key BLOB PRIMARY KEY, version INTEGER NOT NULL, source INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS salt(value BLOB NOT NULL);
INSERT INTO salt VALUES (randomblob(32))
"""
# `superseded` says when a version was replaced: the `turn` of the next one. `erased` remembers purged documents that have
# a source version, by a hash of their id that is keyed with `salt`.

_TO_VERSION_3: Final = {0: (_SCHEMA, _FROM_VERSION_2), 1: (_FROM_VERSION_1, _FROM_VERSION_2), 2: (_FROM_VERSION_2,)}
"""The version of a file -> what migrates it to version 3, before checksums are added."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The tables of a file.

    `version` is that of the tables (`user_version`), `migrations` has the statements that bring a file from an earlier
    version to it, 0 being a new file, and `remedy` says what to do about a damaged file at a path.
    """

    version: int
    migrations: Mapping[int, Sequence[str]]
    remedy: Callable[[Path], str]


def _restore_collection(path: Path) -> str:
    return (
        f"restore the collection {path.parent.name!r} from a backup; "
        f"`medley index verify {path.parent.name}` names the documents concerned"
    )


DOCUMENTS: Final = TableSchema(
    SCHEMA_VERSION,
    {
        **{
            found: (*";".join(scripts).split(";"), *migration(), *counts.migration())
            for found, scripts in _TO_VERSION_3.items()
        },
        3: (*counts.migration(),),
    },
    _restore_collection,
)
"""The tables of a collection's store."""

INDEXES: Final = (  # reads one row for each index, not all its states
    "WITH RECURSIVE found(place) AS (SELECT MIN(place) FROM states UNION ALL "
    "SELECT (SELECT MIN(place) FROM states WHERE place > found.place) FROM found WHERE found.place IS NOT NULL) "
    "SELECT place FROM found WHERE place IS NOT NULL"
)
"""Selects the names of all indexes that have states."""

_BUSY_SECONDS: Final = 60.0
_SEALED: Final = 0x5EA1ED
# In the header of the file (`application_id`, otherwise 0), so that a process that still has a removed file open sees it.

_PRAGMAS: Final = ("journal_mode = WAL", "synchronous = FULL", "journal_size_limit = 67108864", "secure_delete = ON")


class Database:
    """The file at `path`, created if missing, its tables migrated to those of `schema`. Threads and processes share it.

    Raises `Conflict` for a file of a later version.
    """

    def __init__(self, path: Path, schema: TableSchema = DOCUMENTS) -> None:
        self.path = path
        self._remedy = schema.remedy
        self._local = threading.local()
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.read() as database:
            found = _schema_version(database)
        if found > schema.version:
            raise Conflict(
                f"{path.name} has schema version {found}; this program reads up to {schema.version}", field=path.name
            )
        if found < schema.version:
            with self.write() as database:
                _migrate(database, schema)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A transaction that reads the file as it is at its start."""
        with self._translated(), _transaction(self._connection(), "BEGIN") as database:
            yield database

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that excludes other writers, and commits entirely or not at all."""
        with self._translated(), _transaction(self._connection(), "BEGIN IMMEDIATE") as database:
            if database.execute("PRAGMA application_id").fetchone()[0] == _SEALED:
                raise Conflict(
                    f"nothing can be written to the collection {self.path.parent.name!r}: it is being renamed or deleted",
                    field="collection",
                )
            yield database

    def seal(self, sealed: bool) -> None:
        """Refuse every write from now on, of any process, or no longer; waits for a write that is under way."""
        with self._translated(), _transaction(self._connection(), "BEGIN IMMEDIATE") as database:
            database.execute(f"PRAGMA application_id = {_SEALED if sealed else 0}")

    def checkpoint(self, seconds: float = 0.0) -> bool:
        """Move the write-ahead log into the file and empty it; false when other processes prevented it for `seconds`.

        Until then a copy of the file without its log lacks documents, and the log holds text that the file no longer does.
        """
        with self._translated():
            database = self._connection()
            database.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")
            try:
                return not database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return False
            finally:
                database.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1_000)}")

    def vacuum(self) -> None:
        """Write the whole file anew, without free pages, and empty the write-ahead log.

        It excludes other writers and needs room for two more copies. Raises `Unavailable` when others keep the log in use.
        """
        with self._translated():
            self._connection().execute("VACUUM")
        if not self.checkpoint(_BUSY_SECONDS):
            raise Unavailable(
                f"{self.path.name}: other processes kept the write-ahead log in use for {_BUSY_SECONDS:.0f} s, so it "
                "still holds what was removed; try again",
                field=self.path.name,
            )

    def _connection(self) -> sqlite3.Connection:
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None or handle.process != os.getpid():
            handle = self._local.handle = _Handle(self.path)
        return handle.database

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except MedleyError:
            raise
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            if is_full(error):
                message = f"{self.path.name}: the disk is full; free some space and send it again, no accepted document is lost"
            elif "locked" in str(error):
                message = f"{self.path.name}: other processes kept the store busy for {_BUSY_SECONDS:.0f} s; try again"
            elif is_corrupt(error):
                raise Damaged(
                    f"{self.path.name} is damaged ({error}): {self._remedy(self.path)}", field=self.path.name
                ) from error
            else:
                message = f"{self.path.name}: {error}"
            raise Unavailable(message, field=self.path.name) from error


class _Handle:
    """A connection of one thread of one process; SQLite connections must not be used across a fork."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        self.database = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        register(self.database)
        # Not __del__: when a reference cycle is collected, the connection can be finalized first, which warns.
        weakref.finalize(self, _close, self.database, self.process)
        self._prepare(time.monotonic() + _BUSY_SECONDS)

    def _prepare(self, until: float) -> None:
        try:
            for pragma in _PRAGMAS:
                self.database.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself when two processes switch a new file to write-ahead logging at once.
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
        # SQLite itself rolls back when the disk is full, so there can be nothing left to roll back.
        if database.in_transaction:
            database.execute("ROLLBACK")


def is_corrupt(error: Exception) -> bool:
    """Whether an error means that the file was changed on the disk: a page, its header, or the text in a row."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of extended codes
    damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return damaged or "Could not decode" in str(error) or isinstance(error, UnicodeDecodeError)


def _schema_version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _migrate(database: sqlite3.Connection, schema: TableSchema) -> None:
    """Create the tables, or migrate those of an earlier version; does nothing where another process was first."""
    found = _schema_version(database)
    if found >= schema.version:
        return
    for statement in schema.migrations.get(found, ()):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {schema.version}")
