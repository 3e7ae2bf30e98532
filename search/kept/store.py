"""The contract of the store of what users keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from mappings.documents import Access
from search.kept.items import KeptDraft, KeptFilter, KeptItem, KeptKind, KeptPage


class KeptStore(Protocol):
    """The kept items of all users. When a call returns, its changes survive a kill; threads and processes share it.

    Every operation of a user takes the user's access, and shows or changes nothing beyond it: an item of another user
    exists only for callers with a label that it is shared with, and only its owner changes it. An unknown item and one
    that the caller can't see raise the same `NotFound`; one that the caller sees and does not own raises `Forbidden`.
    """

    def add(self, access: Access, draft: KeptDraft) -> KeptItem:
        """Keep a new item of the caller, with revision 1.

        Raises `Conflict` where another of the caller's items of this kind has the name, or the caller has `MOST_ITEMS`;
        `Forbidden` for a label that the caller does not have, `NotFound` for an unknown collection.
        """
        ...

    def replace(self, access: Access, identifier: str, revision: int, draft: KeptDraft) -> KeptItem:
        """Replace an item of the caller that still has this revision; the new one, with the next revision.

        Of several calls with the same revision exactly one succeeds. The others raise `Conflict`, as does a name that is
        taken. Labels that the item is shared with already may stay; others the caller must have, or it is `Forbidden`.
        """
        ...

    def get(self, access: Access, identifier: str) -> KeptItem:
        """An item of the caller, or one that is shared with the caller. Raises `NotFound`."""
        ...

    def named(self, access: Access, kind: KeptKind, name: str) -> KeptItem | None:
        """The caller's own item of that kind and name; None for none."""
        ...

    def list_items(self, access: Access, wanted: KeptFilter, size: int, after: str = "") -> KeptPage:
        """A page of the items that the caller sees, what was changed last first, after the position `after`.

        Raises `InvalidInput` for a size or a position that is not valid.
        """
        ...

    def delete(self, access: Access, identifier: str, revision: int | None = None) -> KeptItem:
        """Delete an item of the caller, and return it; only in this revision, where one is given, or `Conflict`."""
        ...

    def find(self, identifier: str) -> KeptItem:
        """An item of whichever user, for the operator. Raises `NotFound`, `Damaged`."""
        ...

    def remove(self, identifier: str) -> bool:
        """Delete an item of whichever user, even a damaged one; whether it was there."""
        ...

    def purge(self, owner: str) -> int:
        """Delete every item of a user; returns how many. `wipe` clears the files of what they leave."""
        ...

    def remove_collection(self, collection: str) -> int:
        """Delete every item that belongs to a collection; returns how many."""
        ...

    def move_collection(self, collection: str, target: str) -> int:
        """Let every item of one collection belong to another; returns how many. It gives each its next revision."""
        ...

    def export(self) -> Iterator[KeptItem]:
        """Every item that exists when this begins, each once, in that revision or a later one. Raises `Damaged`."""
        ...

    def restore(self, items: Iterable[KeptItem]) -> int:
        """Store exported items under their ids and revisions; returns how many were not there.

        An item that is there stays as it is. One whose name its owner has given to another gets a name of its own.
        """
        ...

    def wipe(self) -> None:
        """Clear the files of what removed items leave in them. Raises `Unavailable` where others keep them in use."""
        ...

    def close(self) -> None:
        """Make the files complete by themselves, as far as other processes allow; the store stays usable."""
        ...
