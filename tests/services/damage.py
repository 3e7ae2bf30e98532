"""Changes a store's file as a disk does: behind the back of its checksums."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def change_stored(path: Path, statement: str) -> None:
    """Run a statement on a store's file without the triggers that keep its checksums."""
    with closing(sqlite3.connect(path)) as database:
        triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        database.execute(statement)
        for _, create in triggers:
            database.execute(create)
        database.commit()
