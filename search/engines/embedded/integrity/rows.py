"""Checksums of the rows of a store, kept by triggers in a column of their own: whoever writes a row need not know them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final
from zlib import crc32

TABLES: Final = {
    "latest": (("id",), ("id", "version", "turn", "hash", "source", "job")),
    "states": (("place", "id"), ("place", "id", "version", "state", "passages", "attempts", "cause")),
    "jobs": (("id",), ("id", "record")),
}
"""Table -> (its key, the columns that the checksum covers). Raw documents have a hash, in `latest`."""


def register(database: sqlite3.Connection) -> None:
    """Define `row_sum` for a connection; one without it can read, but not write."""
    database.create_function("row_sum", -1, row_sum, deterministic=True)


def row_sum(*values: str | int | bytes | None) -> int:
    """The CRC-32 of the values of a row."""
    return crc32(b"\0".join(map(_encode, values)))


def sound(table: str, alias: str = "") -> str:
    """An SQL condition: the row is as it was written."""
    return f"{alias}checksum IS row_sum({', '.join(f'{alias}{name}' for name in TABLES[table][1])})"


def migration() -> Iterator[str]:
    """The statements that add checksums to the tables of schema version 2. Rows already there are taken as they are."""
    for table, (key, names) in TABLES.items():
        yield f"ALTER TABLE {table} ADD COLUMN checksum INTEGER"
        yield f"UPDATE {table} SET checksum = row_sum({', '.join(names)})"
        for name, event in (("inserted", "INSERT"), ("updated", f"UPDATE OF {', '.join(names)}")):
            yield (
                f"CREATE TRIGGER {table}_{name} AFTER {event} ON {table} BEGIN UPDATE {table} "
                f"SET checksum = row_sum({', '.join(f'NEW.{column}' for column in names)}) "
                f"WHERE {' AND '.join(f'{column} = NEW.{column}' for column in key)}; END"
            )


def _encode(value: str | int | bytes | None) -> bytes:
    if isinstance(value, bytes):
        return b"b" + value
    return b"n" if value is None else f"{type(value).__name__[0]}{value}".encode(errors="replace")
