"""What a caller can do with kept items, the same over every interface; each action is written to the access log.

The log has the ids of items, their kinds and the labels that they are shared with; never their names and contents, so that
it holds nothing of them after they are erased.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from mappings.documents import Access
from mappings.dossiers.withholding import content_for
from mappings.errors import InvalidInput, NotFound
from search.kept.items import KeptDraft, KeptFilter, KeptItem, KeptKind, KeptPage, is_item_id, unknown_item
from search.kept.store import KeptStore
from web.kept.seen import without_seen
from web.use_cases import UseCases

_LOGGED_ID_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class KeptUseCases:
    """What the caller of `use_cases` keeps, and what others share with them.

    An item of another user that belongs to a collection which the caller can't see does not exist for the caller: it
    would tell that the collection does.
    """

    use_cases: UseCases

    def list_items(self, kind: KeptKind | None, collection: str | None, size: int, after: str = "") -> KeptPage:
        """A page of the items that the caller sees, what was changed last first. Raises `InvalidInput`."""
        asked = {"kind": kind} if kind else {}
        with self.use_cases.audited("kept list", collection or "", asked) as done:
            visible = self._visible()
            page = self._store.list_items(self._access, KeptFilter(kind, collection, visible), size, after)
            done["items"] = [item.id for item in page.items]
        return replace(page, items=tuple(self._shown(item, visible) for item in page.items))

    def get(self, identifier: str) -> KeptItem:
        """An item that the caller sees. Raises `NotFound`."""
        with self.use_cases.audited("kept read", "", _asked(identifier)):
            return self._find(identifier)

    def find(self, kind: KeptKind, reference: str) -> KeptItem | None:
        """The caller's own item of that kind and name, or the one with that id that they see; None for none."""
        with self.use_cases.audited("kept read", "", {"kind": kind}) as done:
            item = self._store.named(self._access, kind, reference)
            if item is None and is_item_id(reference):
                done["item"] = reference
                with suppress(NotFound):
                    item = self._find(reference)
            done |= {"item": item.id} if item else {}
        return item

    def add(self, draft: KeptDraft) -> KeptItem:
        """Keep an item. Raises `Conflict`, `Forbidden`, and `InvalidInput` for a collection that the caller can't see."""
        with self.use_cases.audited("kept add", draft.collection, _described(draft)) as done:
            self._check_collection(draft.collection)
            item = self._store.add(self._access, draft)
            done["item"] = item.id
        return item

    def replace(self, identifier: str, revision: int, draft: KeptDraft) -> KeptItem:
        """Replace an item of the caller that still has this revision. Raises the errors of `get` and `add`."""
        with self.use_cases.audited("kept replace", draft.collection, _asked(identifier) | _described(draft)) as done:
            if draft.collection != self._find(identifier).collection:
                self._check_collection(draft.collection)
            item = self._store.replace(self._access, identifier, revision, draft)
            done["revision"] = item.revision
        return item

    def delete(self, identifier: str, revision: int | None = None) -> KeptItem:
        """Delete an item of the caller, only in this revision if it is given. Raises `NotFound`, `Forbidden`, `Conflict`."""
        with self.use_cases.audited("kept delete", "", _asked(identifier)) as done:
            self._find(identifier)
            item = self._store.delete(self._access, identifier, revision)
            done |= _described(item)
        return item

    @property
    def _store(self) -> KeptStore:
        return self.use_cases.medley.kept

    @property
    def _access(self) -> Access:
        return self.use_cases.caller.access

    def _find(self, identifier: str) -> KeptItem:
        item = self._store.get(self._access, identifier)
        if item.owner == self._access.user:
            return item
        visible = self._visible() if item.collection or item.kind == "dossier" else None
        if item.collection and visible is not None and item.collection not in visible:
            raise unknown_item(identifier)
        return self._shown(item, visible)

    def _shown(self, item: KeptItem, visible: frozenset[str] | None) -> KeptItem:
        """The item as the caller may read it: another user's, without what the caller may not see.

        That is evidence of a dossier, and the documents that the owner of a search has seen.
        """
        if item.owner == self._access.user:
            return item
        if item.kind == "search":
            return replace(item, content=without_seen(item.content))
        if item.kind != "dossier":
            return item
        return replace(item, content=content_for(item.content, self._access, visible))

    def _visible(self) -> frozenset[str] | None:
        """The collections that the caller sees; None: all."""
        if self.use_cases.caller.sees_every_collection:
            return None
        return frozenset(item.name for item in self.use_cases.collections.all())

    def _check_collection(self, name: str) -> None:
        if name:
            try:
                self.use_cases.collections.get(name)
            except NotFound as error:
                raise InvalidInput(error.message, field=error.field) from None


def _asked(identifier: str) -> dict[str, Any]:
    return {"item": identifier[:_LOGGED_ID_CHARACTERS]}


def _described(item: KeptDraft | KeptItem) -> dict[str, Any]:
    return {"kind": item.kind} | ({"shared_with": sorted(item.shared_with)} if item.shared_with else {})
