"""Whether a caller can see anything in a collection: one without visible documents is hidden from most callers."""

from __future__ import annotations

from typing import Final

from mappings.documents import Access
from mappings.errors import NotFound
from search.memory.cache import Cache
from search.protocols import SearchEngine

_KEPT: Final = 5_000
_ATTEMPTS: Final = 2


class Visibility:
    """Asks the engine once for each commit of an index and each set of labels. Thread-safe."""

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine
        self._known: Cache[bool] = Cache(_KEPT)

    def has_visible(self, collection: str, access: Access) -> bool:
        """Whether the published index of `collection` has any document that the caller may see; False without an index.

        Raises `Unavailable` or `Conflict` if the index cannot be read.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._ask(collection, access)
            except NotFound:
                continue  # an index that was dropped after it was resolved has a successor
        return False

    def _ask(self, collection: str, access: Access) -> bool:
        meta = self._engine.resolve(collection)
        key = (meta.index, meta.commit, access.key)
        known = self._known.get(key)
        return self._known.put(key, self._engine.has_visible(meta.index, access)) if known is None else known
