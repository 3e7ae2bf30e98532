"""The tables of kept items, and an item as a row: every row has a checksum, so that a changed one is never shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from mappings.errors import Damaged
from search.engines.embedded.database import TableSchema
from search.engines.embedded.integrity.rows import row_sum
from search.kept.items import KeptItem, encode_content

_NAMES: Final = (
    "id",
    "owner",
    "kind",
    "name",
    "content",
    "collection",
    "labels",
    "revision",
    "created",
    "changed",
)
COLUMNS: Final = ", ".join((*_NAMES, "checksum"))
_MARKS: Final = ",".join("?" * (len(_NAMES) + 1))

SCHEMA: Final = TableSchema(
    1,
    {
        0: (
            "CREATE TABLE items(id TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, "
            "content BLOB NOT NULL, collection TEXT NOT NULL, labels TEXT NOT NULL, revision INTEGER NOT NULL, "
            "created INTEGER NOT NULL, changed INTEGER NOT NULL, checksum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX items_name ON items(owner, kind, name)",
            "CREATE INDEX items_changed ON items(changed, id)",
            "CREATE INDEX items_collection ON items(collection)",
            # Where a listing finds what is shared with a label; the labels of an item itself are in its row.
            "CREATE TABLE shares(label TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY(label, id)) WITHOUT ROWID",
            "CREATE INDEX shares_id ON shares(id)",
        )
    },
    lambda path: f"restore it from a copy of {path.parent}, or remove it, and restore the kept items from a backup",
)


def read(database: sqlite3.Connection, identifier: str) -> KeptItem | None:
    """An item by id. Raises `Damaged`."""
    row = database.execute(f"SELECT {COLUMNS} FROM items WHERE id = ?", (identifier,)).fetchone()
    return item_of(row) if row else None


def select(
    database: sqlite3.Connection, condition: str, values: Sequence[Any] | Mapping[str, Any]
) -> Iterator[KeptItem]:
    """The items of a query. Raises `Damaged`."""
    for row in database.execute(f"SELECT {COLUMNS} FROM items WHERE {condition}", values):
        yield item_of(row)


def write(database: sqlite3.Connection, item: KeptItem) -> None:
    """Insert an item, or replace the one with its id. Raises `sqlite3.IntegrityError` for a name that is taken."""
    values = (
        item.id,
        item.owner,
        item.kind,
        item.name,
        encode_content(item.content),
        item.collection,
        json.dumps(sorted(item.shared_with)),
        item.revision,
        item.created,
        item.changed,
    )
    delete(database, "id = ?", (item.id,))
    database.execute(f"INSERT INTO items({COLUMNS}) VALUES ({_MARKS})", (*values, row_sum(*values)))
    shares = [(label, item.id) for label in sorted(item.shared_with)]
    database.executemany("INSERT INTO shares(label, id) VALUES (?, ?)", shares)


def delete(database: sqlite3.Connection, condition: str, values: Sequence[Any]) -> int:
    """Delete the items that meet a condition; how many."""
    database.execute(f"DELETE FROM shares WHERE id IN (SELECT id FROM items WHERE {condition})", values)
    return database.execute(f"DELETE FROM items WHERE {condition}", values).rowcount


def item_of(row: Sequence[Any]) -> KeptItem:
    """The item in a row. Raises `Damaged` if it was changed on the disk."""
    *values, checksum = row
    found = dict(zip(_NAMES, values, strict=True))
    if row_sum(*values) != checksum:
        raise Damaged(
            f"the kept item {str(found['id'])[:100]!r} is damaged: remove it with `medley kept delete`, and restore it "
            "from a backup",
            field="kept.sqlite",
        )
    found["content"] = orjson.loads(found["content"])
    found["shared_with"] = frozenset(json.loads(found.pop("labels")))
    return KeptItem(**found)
