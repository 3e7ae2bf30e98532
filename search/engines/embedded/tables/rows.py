"""What one change, one outcome or one restored document does to the rows of a store; the caller holds the transaction."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Sequence
from typing import Final

from mappings.errors import Conflict
from search.engines import codec
from search.engines.embedded.database import INDEXES
from search.engines.embedded.integrity.rows import TABLES, sound
from search.engines.embedded.tables import erasure
from search.engines.source_versions import is_stale, next_source
from search.storage import Accepted, ExportedVersion, StateRecord

_IS_SOUND: Final = sound("latest")
_STATE_COLUMNS: Final = ", ".join(TABLES["states"][1])


def accept(database: sqlite3.Connection, change: codec.Packed, job: str) -> Accepted:
    """Accept a change; see `DocumentStore.put`."""
    statement = f"SELECT version, hash, source, {_IS_SOUND} FROM latest WHERE id = ?"
    row = database.execute(statement, (change.id,)).fetchone()
    erased = None if row else erasure.remembered(database, change.id)
    version, known, source, is_sound = row or (*(erased or (0, None, None)), True)
    if not is_sound:  # nothing in the row can be relied on, not even its types
        version, source = version if isinstance(version, int) else 0, None
    if is_stale(source, change.source):
        return Accepted(change.id, version, changed=False, stale=True)
    newest = next_source(source, change.source)
    fingerprint = None if change.content is None else codec.digest(change.content)
    # Deleting an unknown id changes nothing, except with a source version: an older copy can still arrive.
    is_known = is_sound and known == fingerprint and (version or newest is None)
    if is_known and _holds(database, change, version):
        if newest is not None and newest != source:
            _note_source(database, change.id, version, newest, erased is not None)
        return Accepted(change.id, version, changed=False)
    packed = None if change.content is None else codec.pack(change.content)
    before, version = version, _next_version(database, change.id, version)
    database.execute("INSERT INTO versions VALUES (?, ?, ?)", (change.id, version, packed))
    database.execute(
        "INSERT OR REPLACE INTO latest(id, version, turn, hash, source, job) "
        "VALUES (?, ?, (SELECT MAX(IFNULL(MAX(turn), 0) + 1, ?) FROM latest), ?, ?, ?)",
        (change.id, version, time.time_ns() // 1_000, fingerprint, newest, job),
    )
    if row:
        database.execute("INSERT OR IGNORE INTO replaced VALUES (?)", (change.id,))
        database.execute("INSERT INTO superseded SELECT turn, id, ? FROM latest WHERE id = ?", (before, change.id))
    return Accepted(change.id, version, changed=True)


def _note_source(database: sqlite3.Connection, identifier: str, version: int, source: int, erased: bool) -> None:
    if erased:
        erasure.remember(database, identifier, version, source)
    else:
        database.execute("UPDATE latest SET source = ? WHERE id = ?", (source, identifier))


def forget_replaced(database: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Take these documents out of `replaced` where every index that knows them has their newest version."""
    if not database.execute("SELECT 1 FROM replaced LIMIT 1").fetchone():
        return
    here = "s.id = :id AND s.place IN (SELECT value FROM json_each(:places))"
    statement = (
        f"DELETE FROM replaced WHERE id = :id AND EXISTS (SELECT 1 FROM states s WHERE {here}) "
        f"AND NOT EXISTS (SELECT 1 FROM states s JOIN latest l USING (id) WHERE {here} AND s.version < l.version)"
    )
    places = json.dumps([place for (place,) in database.execute(INDEXES)])
    database.executemany(statement, [{"id": name, "places": places} for name in ids])


def restore(database: sqlite3.Connection, item: ExportedVersion) -> None:
    """Store an exported version under its own number. Raises `Conflict` where another version of the document is."""
    fingerprint = None if item.content is None else codec.digest(item.content)
    row = database.execute("SELECT version, hash FROM latest WHERE id = ?", (item.id,)).fetchone()
    if row == (item.version, fingerprint):
        return
    if row:
        raise Conflict(f"the document {item.id[:200]!r} is in the store already, in version {row[0]}", field="id")
    turn = item.accepted  # a cluster may have given several documents the same
    while database.execute("SELECT 1 FROM latest WHERE turn = ?", (turn,)).fetchone():
        turn += 1
    packed = None if item.content is None else codec.pack(item.content)
    database.execute("INSERT OR REPLACE INTO versions VALUES (?, ?, ?)", (item.id, item.version, packed))
    values = (item.id, item.version, turn, fingerprint, item.source_version, item.job)
    database.execute("INSERT INTO latest(id, version, turn, hash, source, job) VALUES (?, ?, ?, ?, ?, ?)", values)


def settle(database: sqlite3.Connection, index: str, record: StateRecord) -> bool:
    """Compare-and-set the state of a document in an index: whether its version is still the newest."""
    key = (index, record.id, record.version)
    written = database.execute(
        f"INSERT OR REPLACE INTO states({_STATE_COLUMNS}) SELECT ?, id, version, ?, ?, 1 + IFNULL("
        "(SELECT attempts FROM states WHERE place = ? AND id = ? AND version = ?), 0), ? "
        "FROM latest WHERE id = ? AND version = ?",
        (index, record.state.value, record.passages, *key, record.cause, record.id, record.version),
    )
    return written.rowcount > 0


def _holds(database: sqlite3.Connection, change: codec.Packed, version: int) -> bool:
    """Whether the record of a version can be read: if not, equal content is stored again, to replace it."""
    if change.content is None:
        return True
    statement = "SELECT CAST(raw AS BLOB) FROM versions WHERE id = ? AND version = ?"
    row = database.execute(statement, (change.id, version)).fetchone()
    try:
        return row is not None and codec.unpack(row[0] or b"") == change.content
    except (zlib.error, TypeError):
        return False


def _next_version(database: sqlite3.Connection, identifier: str, version: int) -> int:
    """The version after `version`, and after any that a damaged row no longer leads to."""
    row = database.execute("SELECT CAST(MAX(version) AS INTEGER) FROM versions WHERE id = ?", (identifier,)).fetchone()
    return max(version, row[0] or 0) + 1
