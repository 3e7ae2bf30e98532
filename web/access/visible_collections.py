"""Which collections a caller can see: a collection without anything for them is treated as one that does not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mappings.errors import MedleyError, NotFound, Unavailable
from search.collections import check_name
from web.access.caller import Caller

if TYPE_CHECKING:
    from mappings.collection import Collection
    from search.bootstrap import Medley


@dataclass(frozen=True, slots=True)
class VisibleCollections:
    """The collections that `caller` can see.

    These are the collections with a document that they may see, or that they may write to; operators and callers with every
    label see all. Nothing tells a hidden collection from an absent one: neither the answer nor the work that it takes.
    """

    medley: Medley
    caller: Caller

    def all(self) -> list[Collection]:
        """The visible collections by name, without any whose index cannot be read now."""
        return [self.medley.collections.get(name) for name in self.medley.collections.names() if self._is_visible(name)]

    def get(self, name: str) -> Collection:
        """A visible collection.

        Raises `InvalidInput` for an invalid name, `NotFound` with the names of those that are visible, `Unavailable` while
        some index cannot be read, which may be that of the named collection.
        """
        names = self.medley.collections.names()
        check_name(name)
        named = self._is_visible(name) if name in names else False
        if named:
            return self.medley.collections.get(name)
        decided = {each: named if each == name else self._is_visible(each) for each in names}
        if None in decided.values():
            raise Unavailable(
                f"whether you may see a collection {name!r} cannot be decided while an index cannot be read: try again",
                field="collection",
            )
        known = ", ".join(each for each, visible in decided.items() if visible)
        none = "none yet" if self.caller.sees_every_collection else "none that you may see"
        raise NotFound(f"there is no collection {name!r}; there are: {known or none}", field="collection")

    def _is_visible(self, name: str) -> bool | None:
        """None if it cannot be decided now."""
        caller = self.caller
        if caller.sees_every_collection or caller.may_write(name):
            return True
        try:
            return self.medley.visibility.has_visible(name, caller.access)
        except MedleyError:
            return None
