"""The store of kept items in one SQLite file of the home. Threads and processes share it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mappings.documents import Access
from search.engines.embedded.database import Database
from search.engines.embedded.kept import rows
from search.kept.items import (
    MOST_ITEMS,
    KeptDraft,
    KeptFilter,
    KeptItem,
    KeptKind,
    KeptPage,
    check_page,
    is_item_id,
    is_name,
    name_taken,
    restored_name,
    too_many_items,
    unknown_item,
)

FILE: Final = "kept.sqlite"
_SHARED: Final = "id IN (SELECT id FROM shares WHERE :everything OR label IN (SELECT value FROM json_each(:labels)))"
_LISTED: Final = (
    f"(owner = :user OR ({_SHARED} AND (:visible IS NULL OR collection = '' "
    "OR collection IN (SELECT value FROM json_each(:visible))))) "
    "AND (:kind IS NULL OR kind = :kind) AND (:collection IS NULL OR collection = :collection) "
    "AND (:changed IS NULL OR (changed, id) < (:changed, :id)) ORDER BY changed DESC, id DESC LIMIT :most"
)


class EmbeddedKeptStore:
    """A `KeptStore` in `<home>/kept.sqlite`, which the first use creates.

    `check` raises `NotFound` for a collection that does not exist; it is asked within the transaction of a write, so no
    item comes to belong to a collection that is being deleted.
    """

    def __init__(self, home: Path, check: Callable[[str], object]) -> None:
        self.path = home / FILE
        self._check = check
        self._opened: Database | None = None
        self._lock = threading.Lock()

    def add(self, access: Access, draft: KeptDraft) -> KeptItem:
        """Keep a new item of the caller; see `KeptStore.add`."""
        item = KeptItem.of(access, draft)
        with self._database.write() as database, _named(draft):
            self._check_collection(draft.collection)
            (count,) = database.execute("SELECT COUNT(*) FROM items WHERE owner = ?", (item.owner,)).fetchone()
            if count >= MOST_ITEMS:
                raise too_many_items()
            rows.write(database, item)
        return item

    def replace(self, access: Access, identifier: str, revision: int, draft: KeptDraft) -> KeptItem:
        """Replace an item of the caller that still has this revision; see `KeptStore.replace`."""
        with self._database.write() as database, _named(draft):
            found = _known(database, identifier)
            changed = found.changed_by(access, revision, draft)
            if changed.collection != found.collection:
                self._check_collection(changed.collection)
            rows.write(database, changed)
        return changed

    def get(self, access: Access, identifier: str) -> KeptItem:
        """An item of the caller, or one that is shared with the caller. Raises `NotFound`."""
        found = self.find(identifier)
        if not found.may_be_seen(access):
            raise unknown_item(identifier)
        return found.seen_by(access)

    def named(self, access: Access, kind: KeptKind, name: str) -> KeptItem | None:
        """The caller's own item of that kind and name; None for none."""
        if not is_name(name):
            return None
        with self._database.read() as database:
            return next(rows.select(database, _NAMESAKE, (access.user, kind, name)), None)

    def list_items(self, access: Access, wanted: KeptFilter, size: int, after: str = "") -> KeptPage:
        """A page of the items that the caller sees; see `KeptStore.list_items`."""
        position = check_page(size, after)
        values: dict[str, Any] = {
            "user": access.user,
            "everything": access.everything,
            "labels": json.dumps(sorted(access.labels)),
            "visible": None if wanted.visible is None else json.dumps(sorted(wanted.visible)),
            "kind": wanted.kind,
            "collection": wanted.collection,
            "changed": position and position[0],
            "id": position and position[1],
            "most": size + 1,
        }
        with self._database.read() as database:
            found = list(rows.select(database, _LISTED, values))
        return KeptPage.of([item.seen_by(access) for item in found if item.may_be_seen(access)], size)

    def delete(self, access: Access, identifier: str, revision: int | None = None) -> KeptItem:
        """Delete an item of the caller, and return it; see `KeptStore.delete`."""
        with self._database.write() as database:
            found = _known(database, identifier)
            found.check_owner(access)
            if revision is not None:
                found.check_revision(revision)
            rows.delete(database, "id = ?", (identifier,))
        return found

    def find(self, identifier: str) -> KeptItem:
        """An item of whichever user. Raises `NotFound`, `Damaged`."""
        with self._database.read() as database:
            return _known(database, identifier)

    def remove(self, identifier: str) -> bool:
        """Delete an item of whichever user, even a damaged one; whether it was there."""
        if not is_item_id(identifier):
            return False
        with self._database.write() as database:
            return rows.delete(database, "id = ?", (identifier,)) > 0

    def purge(self, owner: str) -> int:
        """Delete every item of a user; returns how many."""
        if not self.path.exists():
            return 0
        with self._database.write() as database:
            return rows.delete(database, "owner = ?", (owner,))

    def remove_collection(self, collection: str) -> int:
        """Delete every item that belongs to a collection; returns how many."""
        if not self.path.exists():
            return 0
        with self._database.write() as database:
            return rows.delete(database, "collection = ?", (collection,))

    def move_collection(self, collection: str, target: str) -> int:
        """Let every item of one collection belong to another; see `KeptStore.move_collection`."""
        if not self.path.exists():
            return 0
        with self._database.write() as database:
            found = list(rows.select(database, "collection = ?", (collection,)))
            for item in found:
                rows.write(database, replace(item, collection=target, revision=item.revision + 1))
        return len(found)

    def export(self) -> Iterator[KeptItem]:
        """Every item as of this moment; see `KeptStore.export`."""
        if not self.path.exists():
            return
        # A connection of its own: this thread may use the store between two items.
        with Database(self.path, rows.SCHEMA).read() as database:
            yield from rows.select(database, "TRUE ORDER BY created, id", ())

    def restore(self, items: Iterable[KeptItem]) -> int:
        """Store exported items under their ids and revisions; see `KeptStore.restore`."""
        count = 0
        with self._database.write() as database:
            for item in items:
                if rows.read(database, item.id) is None:
                    is_taken = any(rows.select(database, _NAMESAKE, (item.owner, item.kind, item.name)))
                    rows.write(database, restored_name(item) if is_taken else item)
                    count += 1
        return count

    def wipe(self) -> None:
        """Write the file anew, and empty its write-ahead log. Raises `Unavailable` where others keep them in use."""
        if self.path.exists():
            self._database.vacuum()

    def close(self) -> None:
        """Empty the write-ahead log into the file, unless others are using it at this moment."""
        if self._opened is not None:
            self._opened.checkpoint()

    @property
    def _database(self) -> Database:
        with self._lock:
            if self._opened is None:
                self._opened = Database(self.path, rows.SCHEMA)
            return self._opened

    def _check_collection(self, collection: str) -> None:
        if collection:
            self._check(collection)


_NAMESAKE: Final = "owner = ? AND kind = ? AND name = ?"


def _known(database: sqlite3.Connection, identifier: str) -> KeptItem:
    found = rows.read(database, identifier) if is_item_id(identifier) else None
    if found is None:
        raise unknown_item(identifier)
    return found


@contextmanager
def _named(draft: KeptDraft) -> Iterator[None]:
    """Translate the error of a name that is taken."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise name_taken(draft) from error
