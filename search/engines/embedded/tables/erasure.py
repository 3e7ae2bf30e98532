"""Removes replaced versions, tombstones and old jobs from a store's tables, and remembers what must stay refused.

A purged document that has a source version leaves a row in `erased`: its version, its source version, and a hash of its id
under the store's own salt. It tells nobody the id, but whoever has the store can check whether a known id is among them.
"""

from __future__ import annotations

import hmac
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from search.engines.embedded.database import INDEXES, Database
from search.storage import Purged

_CHUNK: Final = 500
_JOB_SECONDS: Final = 86_400.0
_MICROSECONDS: Final = 1_000_000

_AMONG: Final = " AND {} IN (SELECT value FROM json_each(?))"
_SETTLED: Final = """
NOT EXISTS (SELECT 1 FROM json_each(?) i LEFT JOIN states s ON s.place = i.value AND s.id = l.id
            WHERE s.version IS NULL OR s.version < l.version OR s.state = 'received')
"""


def purge(database: Database, before: float, indexes: Sequence[str], ids: Sequence[str] | None) -> Purged:
    """Remove everything that `DocumentStore.purge` describes, a few hundred rows in one transaction."""
    cutoff = int(before * _MICROSECONDS)
    among, values = ("", []) if ids is None else (_AMONG, [json.dumps(ids)])
    versions = _repeat(
        database,
        f"SELECT turn, id, version FROM superseded WHERE turn <= ?{among.format('id')} LIMIT {_CHUNK}",
        (cutoff, *values),
        _remove_versions,
    )
    deleted = f"FROM latest l WHERE l.hash IS NULL AND l.turn <= ?{among.format('l.id')}"
    tombstones = _repeat(
        database,
        f"SELECT l.id, l.version, l.source {deleted} AND {_SETTLED} LIMIT {_CHUNK}",
        (cutoff, *values, json.dumps(list(indexes))),
        _remove_tombstones,
    )
    with database.write() as connection:
        waiting = connection.execute(f"SELECT COUNT(*) {deleted}", (cutoff, *values)).fetchone()[0]
        jobs = _remove_jobs(connection, before, indexes) if ids is None else 0
    return Purged(versions, tombstones, jobs, waiting)


def remembered(database: sqlite3.Connection, identifier: str) -> tuple[int, None, int] | None:
    """(version, no hash, source version) of a purged document, as if it still had its tombstone."""
    found = database.execute(
        "SELECT version, NULL, source FROM erased WHERE key = ?", (_key(database, identifier),)
    ).fetchone()
    row: tuple[int, None, int] | None = found
    return row


def remember(database: sqlite3.Connection, identifier: str, version: int, source: int) -> None:
    """Refuse copies of a purged document that are older than `source`."""
    database.execute("INSERT OR REPLACE INTO erased VALUES (?, ?, ?)", (_key(database, identifier), version, source))


def _key(database: sqlite3.Connection, identifier: str) -> bytes:
    salt = database.execute("SELECT value FROM salt").fetchone()[0]
    return hmac.digest(salt, identifier.encode(), "sha256")


def _repeat(
    database: Database,
    statement: str,
    values: Sequence[int | str],
    remove: Callable[[sqlite3.Connection, list[Any]], None],
) -> int:
    """Remove what `statement` selects until it selects nothing, a transaction each time; returns the number of rows."""
    count = 0
    while True:
        with database.write() as connection:
            rows = connection.execute(statement, values).fetchall()
            remove(connection, rows)
        count += len(rows)
        if len(rows) < _CHUNK:
            return count


def _remove_versions(database: sqlite3.Connection, rows: list[Any]) -> None:
    database.executemany("DELETE FROM superseded WHERE turn = ? AND id = ? AND version = ?", rows)
    database.executemany(
        "DELETE FROM versions WHERE id = ? AND version = ? AND "
        "NOT EXISTS (SELECT 1 FROM latest l WHERE l.id = versions.id AND l.version = versions.version)",
        [row[1:] for row in rows],
    )


def _remove_tombstones(database: sqlite3.Connection, rows: list[Any]) -> None:
    for identifier, version, source in rows:
        if source is not None:
            remember(database, identifier, version, source)
    ids = [(row[0],) for row in rows]
    places = [row[0] for row in database.execute(INDEXES)] if rows else []
    database.executemany("DELETE FROM latest WHERE id = ?", ids)
    database.executemany("DELETE FROM versions WHERE id = ?", ids)
    database.executemany("DELETE FROM replaced WHERE id = ?", ids)
    for place in places:
        database.executemany("DELETE FROM states WHERE id = ? AND place = ?", [(*row, place) for row in ids])


def _remove_jobs(database: sqlite3.Connection, before: float, indexes: Sequence[str]) -> int:
    """Remove the jobs that ended a day before; those that say when an existing index was published stay.

    The cause of a rebuild that failed can quote a document, so such a job is removed at once.
    """
    ended = "json_extract(record, '$.finished')"
    # A delivery that was killed never finishes.
    old = f"json_extract(record, '$.started') <= ?2 AND {ended} <= ?2"
    in_use = "SELECT 1 FROM json_each(?3) i WHERE substr(jobs.id, -1 - length(i.value)) = '.' || i.value"
    statement = (
        f"DELETE FROM jobs WHERE ({old} OR json_extract(record, '$.cause') != '' AND {ended} <= ?1) "
        f"AND NOT EXISTS ({in_use})"
    )
    last = min(before, time.time() - _JOB_SECONDS)
    return database.execute(statement, (before, last, json.dumps(list(indexes)))).rowcount
