"""The store of kept items in one index of the cluster. Threads and processes share it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from mappings.documents import Access
from mappings.errors import Conflict, Unavailable
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.documents.expunge import expunge
from search.engines.opensearch.documents.tables import Row, Table
from search.engines.opensearch.kept import queries
from search.engines.opensearch.kept.reservations import NameReservations
from search.engines.opensearch.kept.rows import (
    PROPERTIES,
    NameReservation,
    item_of,
    item_row,
    key_of_name,
    name_key,
    reservation_of,
)
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
    restored_name,
    too_many_items,
    unknown_item,
)

_PAGE: Final = 100
_PURGES: Final = 5
_WIPE_SECONDS: Final = 720.0


class OpenSearchKeptStore:
    """A `KeptStore` in the index `medley.kept`; `check` raises `NotFound` for a collection that does not exist.

    Two processes that add an item for one user at the same moment can exceed `MOST_ITEMS` by one.
    """

    def __init__(self, cluster: Cluster, check: Callable[[str], object]) -> None:
        self._cluster, self._check = cluster, check
        self._table = Table(cluster, cluster.name("kept"), PROPERTIES, shards=1)
        self._names = NameReservations(self._table)

    def add(self, access: Access, draft: KeptDraft) -> KeptItem:
        """Keep a new item of the caller; see `KeptStore.add`."""
        item = KeptItem.of(access, draft)
        self._check_collection(draft.collection)
        if self._count({"term": {"owner": item.owner}}) >= MOST_ITEMS:
            raise too_many_items()
        with self._reserved(item) as reservation:
            self._write(item, reservation, Row())
        return item

    def replace(self, access: Access, identifier: str, revision: int, draft: KeptDraft) -> KeptItem:
        """Replace an item of the caller that still has this revision; see `KeptStore.replace`."""
        row, found = self._known(identifier)
        changed = found.changed_by(access, revision, draft)
        if changed.collection != found.collection:
            self._check_collection(changed.collection)
        old = reservation_of(row.source or {})
        if name_key(changed) == old.key:
            self._write(changed, old, row)
        else:
            with self._reserved(changed) as reservation:
                self._write(changed, reservation, row)
            self._names.cancel([old])
        return changed

    def get(self, access: Access, identifier: str) -> KeptItem:
        """An item of the caller, or one that is shared with the caller. Raises `NotFound`."""
        found = self.find(identifier)
        if not found.may_be_seen(access):
            raise unknown_item(identifier)
        return found.seen_by(access)

    def named(self, access: Access, kind: KeptKind, name: str) -> KeptItem | None:
        """The caller's own item of that kind and name; None for none."""
        key = key_of_name(access.user, kind, name) if is_name(name) else ""
        reserved = self._rows([key] if key else []).get(key, Row()).source or {}
        found = [item_of(row.source or {}) for row in self._rows([reserved["item"]] if reserved else []).values()]
        return next((item for item in found if (item.owner, item.kind, item.name) == (access.user, kind, name)), None)

    def list_items(self, access: Access, wanted: KeptFilter, size: int, after: str = "") -> KeptPage:
        """A page of the items that the caller sees; see `KeptStore.list_items`."""
        body = queries.listing(access, wanted, size + 1, check_page(size, after))
        found = [item_of(hit["_source"]) for hit in self._table.search(body)["hits"]["hits"]]
        return KeptPage.of([item.seen_by(access) for item in found if item.may_be_seen(access)], size)

    def delete(self, access: Access, identifier: str, revision: int | None = None) -> KeptItem:
        """Delete an item of the caller, and return it; see `KeptStore.delete`."""
        row, found = self._known(identifier)
        while True:
            found.check_owner(access)
            if revision is not None:
                found.check_revision(revision)
            if self._delete_one(row):
                return found
            row, found = self._known(identifier)

    def find(self, identifier: str) -> KeptItem:
        """An item of whichever user. Raises `NotFound`."""
        return self._known(identifier)[1]

    def remove(self, identifier: str) -> bool:
        """Delete an item of whichever user; whether it was there."""
        while rows := self._rows([identifier] if is_item_id(identifier) else []):
            if self._delete_one(rows[identifier]):
                return True
        return False

    def purge(self, owner: str) -> int:
        """Delete every item of a user; returns how many."""
        if not self._table.exists():
            return 0
        query = {"term": {"owner": owner}}
        count = self._count(query)
        for _ in range(_PURGES):  # what changes meanwhile is skipped
            self._table.remove(query)
            if not self._table.search({"size": 0, "query": query})["hits"]["total"]["value"]:
                return count
        raise Unavailable(f"{owner!r} keeps adding items: revoke the user's tokens, then purge again")

    def remove_collection(self, collection: str) -> int:
        """Delete every item that belongs to a collection; returns how many."""
        count = 0
        while rows := self._of_collection(collection):
            count += self._delete(rows)
        return count

    def move_collection(self, collection: str, target: str) -> int:
        """Let every item of one collection belong to another; see `KeptStore.move_collection`."""
        count = 0
        while rows := self._of_collection(collection):
            for row in rows.values():
                item = item_of(row.source or {})
                moved = replace(item, collection=target, revision=item.revision + 1)
                with suppress(Conflict):  # changed meanwhile: it is read again
                    self._write(moved, reservation_of(row.source or {}), row)
                    count += 1
        return count

    def export(self) -> Iterator[KeptItem]:
        """Every item, in a revision at least as new as when this begins; see `KeptStore.export`."""
        if self._table.exists():
            yield from (item_of(row.source or {}) for row in self._table.scan(queries.items(), "id", None, _PAGE))

    def restore(self, items: Iterable[KeptItem]) -> int:
        """Store exported items under their ids and revisions; see `KeptStore.restore`."""
        return sum(self._restore(item) for item in items)

    def wipe(self) -> None:
        """Let the cluster write segments anew without removed rows. Raises `Unavailable` when some are left."""
        if self._table.exists() and expunge(self._cluster, [self._table.name], _WIPE_SECONDS):
            raise Unavailable(
                f"after {_WIPE_SECONDS:.0f} s {self._table.name} still holds removed rows in its segments, perhaps because "
                "others write to it; purge again"
            )

    def close(self) -> None:
        """Nothing to do: what the cluster has acknowledged is durable."""

    # Steps

    @contextmanager
    def _reserved(self, item: KeptItem) -> Iterator[NameReservation]:
        """Reserve the name of an item that the block writes; it is cancelled where another call was first."""
        reservation = self._names.reserve(item)
        try:
            yield reservation
        except Conflict:  # of any other error nobody knows whether the item was written
            self._names.cancel([reservation])
            raise

    def _write(self, item: KeptItem, reservation: NameReservation, row: Row) -> None:
        """Write an item unless its row has changed since it was read. Raises `Conflict`."""
        write = secrets.token_hex(8)
        if self._table.swap({item.id: (item_row(item, reservation, write), row)}):
            now = self._table.read([item.id])[item.id].source
            if now is None or now["write"] != write:  # otherwise only the answer to the first attempt was lost
                raise Conflict("the item was changed meanwhile: read it again and repeat the change", field="revision")

    def _delete_one(self, row: Row) -> bool:
        """Delete an item unless it has changed since it was read; whether it is gone."""
        identifier = (row.source or {})["id"]
        if self._delete({identifier: row}):
            return True
        if self._rows([identifier]):
            return False
        self._names.cancel([reservation_of(row.source or {})])  # only the answer to the first attempt was lost
        return True

    def _delete(self, rows: Mapping[str, Row]) -> int:
        """Delete those of the items that have not changed since they were read; how many."""
        changed = self._table.delete(rows)
        gone = [row.source for name, row in rows.items() if name not in changed and row.source is not None]
        self._names.cancel([reservation_of(source) for source in gone])
        return len(gone)

    def _restore(self, item: KeptItem) -> bool:
        if self._rows([item.id]):
            return False
        try:
            reservation = self._names.reserve(item)
        except Conflict:
            item = restored_name(item)
            reservation = self._names.reserve(item)
        self._write(item, reservation, Row())
        return True

    def _known(self, identifier: str) -> tuple[Row, KeptItem]:
        row = self._rows([identifier] if is_item_id(identifier) else []).get(identifier, Row())
        if row.source is None:
            raise unknown_item(identifier)
        return row, item_of(row.source)

    def _rows(self, ids: list[str]) -> dict[str, Row]:
        """The rows that exist, as they were last written."""
        return {name: row for name, row in self._table.read(ids).items() if row.source is not None}

    def _of_collection(self, collection: str) -> dict[str, Row]:
        if not self._table.exists():
            return {}
        found = self._table.search(queries.ids({"term": {"collection": collection}}, _PAGE))["hits"]["hits"]
        rows = self._rows([hit["_id"] for hit in found])
        return {name: row for name, row in rows.items() if (row.source or {})["collection"] == collection}

    def _count(self, condition: dict[str, Any]) -> int:
        return int(self._table.search(queries.count(condition))["hits"]["total"]["value"])

    def _check_collection(self, collection: str) -> None:
        if collection:
            self._check(collection)
