"""Reads the records of a store against their hashes and checksums: one document at a time, or all of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mappings.errors import Damaged, MedleyError
from search.engines import codec
from search.engines.embedded.database import Database, is_corrupt
from search.engines.embedded.integrity.rows import sound
from search.engines.embedded.tables import counts
from search.storage import DAMAGED, StoredDocument, StoreProblem

_PROBLEMS: Final = 3
_RESTORE: Final = "restore the collection from a backup, or send every document again into a new collection"
_AGAIN: Final = "send them again"
_NEWEST: Final = (
    "SELECT l.id, l.version, l.hash, CAST(v.raw AS BLOB) FROM latest l LEFT JOIN versions v USING (id, version)"
)


def read_newest(database: sqlite3.Connection, ids: Sequence[str]) -> Iterator[StoredDocument]:
    """The newest versions of those `ids` that are known; a record on a damaged page does not stop the others."""
    among = f"WHERE l.id IN ({','.join('?' * len(ids))})"
    try:
        rows = database.execute(f"{_NEWEST} {among}", ids).fetchall()
    except sqlite3.DatabaseError as error:
        if not is_corrupt(error):
            raise
        if len(ids) > 1:
            for identifier in ids:
                yield from read_newest(database, [identifier])
            return
        rows = database.execute(f"SELECT l.id, l.version, l.hash, NULL FROM latest l {among}", ids).fetchall()
    yield from (_restored(*row) for row in rows)


def find_damage(database: Database, collection: str) -> list[StoreProblem]:
    """Everything that is wrong with a store: its pages, the newest version of every document, and the other rows.

    Wrong counts of documents are mended; that they were wrong is a finding all the same.
    """
    found: list[StoreProblem] = []
    for step in (_check_pages, _check_documents, _check_states, _check_jobs):
        try:
            with database.read() as connection:
                found += step(connection, collection)
        except Damaged as error:
            found.append(StoreProblem(error.message, _RESTORE))
    return [*found, *_mend_counts(database)]


def _restored(identifier: str, version: int, expected: bytes | None, raw: bytes | None) -> StoredDocument:
    if expected is None and raw is None:
        return StoredDocument(identifier, version, None)
    try:
        return StoredDocument(identifier, version, codec.restore(raw or b"", expected or b""))
    except (ValueError, TypeError):  # SQLite keeps values of any type in any column, so damage can change the type
        return StoredDocument(identifier, version, None, DAMAGED)


def _check_pages(database: sqlite3.Connection, _: str) -> Iterator[StoreProblem]:
    texts = [str(row[0]) for row in database.execute(f"PRAGMA integrity_check({_PROBLEMS})")]
    if texts != ["ok"]:
        yield StoreProblem(f"store.sqlite is damaged: {'; '.join(' '.join(text.split()) for text in texts)}", _RESTORE)


def _check_documents(database: sqlite3.Connection, _: str) -> Iterator[StoreProblem]:
    damaged = {row[0] for row in database.execute(_NEWEST) if _restored(*row).damage}
    for statement in (
        f"SELECT id FROM latest WHERE NOT ({sound('latest')})",
        "SELECT id FROM latest l WHERE version <> (SELECT MAX(version) FROM versions v WHERE v.id = l.id)",
        "SELECT id FROM versions WHERE id NOT IN (SELECT id FROM latest)",
    ):
        damaged |= {row[0] for row in database.execute(statement)}
    if damaged:
        yield StoreProblem(f"{len(damaged):,} documents are damaged in the store", _AGAIN, _sorted(damaged))


def _check_states(database: sqlite3.Connection, collection: str) -> Iterator[StoreProblem]:
    found = {row[0] for row in database.execute(f"SELECT id FROM states WHERE NOT ({sound('states')})")}
    if found:
        text = f"what the store says of {len(found):,} documents in an index is damaged"
        yield StoreProblem(text, f"run `medley index rebuild {collection}`", _sorted(found))


def _check_jobs(database: sqlite3.Connection, _: str) -> Iterator[StoreProblem]:
    found = {row[0] for row in database.execute(f"SELECT id FROM jobs WHERE NOT ({sound('jobs')})")}
    if found:
        text = f"the records of {len(found):,} deliveries or rebuilds are damaged"
        yield StoreProblem(text, "do not rely on their counts; the documents are not concerned", _sorted(found))


def _mend_counts(database: Database) -> Iterator[StoreProblem]:
    action = "they were counted anew"
    try:
        with database.read() as connection:
            if counts.are_right(connection):
                return
        with database.write() as connection:
            counts.count_anew(connection)
    except MedleyError as error:
        action = f"they could not be counted anew: {error.message}"
    yield StoreProblem("the numbers of documents by state were wrong in the store", action)


def _sorted(ids: Iterable[object]) -> tuple[str, ...]:
    return tuple(sorted(map(str, ids)))
