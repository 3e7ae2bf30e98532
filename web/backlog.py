"""Limits how many changes can be pending: checked before more are accepted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mappings.errors import MedleyError
from web.use_cases import published_index

if TYPE_CHECKING:
    from search.bootstrap import Medley

RETRY_SECONDS: Final = 10
"""When a rejected client should retry: an encoder finishes one or two batches in this time."""

_FRESH_SECONDS: Final = 1.0
_SHARE: Final = 10
"""Counting millions is slow: it is repeated so rarely that it takes at most a tenth of the time."""


class BacklogFull(MedleyError):
    """Too many changes are pending; no more are accepted for now."""

    code = "overloaded"
    retry_after = RETRY_SECONDS


class Backlog:
    """Counts the pending changes of each collection, at most about once a second. Thread-safe."""

    def __init__(self, medley: Medley) -> None:
        self._medley = medley
        self._counted: dict[str, tuple[float, int]] = {}

    def check(self, collection: str) -> None:
        """Raise `BacklogFull` while as many changes are pending in `collection` as the settings allow."""
        limit, pending = self._medley.settings.backlog, self.pending(collection)
        if pending >= limit:
            raise BacklogFull(
                f"{pending:,} changes of {collection!r} are waiting to be indexed, and the limit is {limit:,}: "
                f"try again in {RETRY_SECONDS} seconds"
            )

    def pending(self, collection: str) -> int:
        """How many changes are pending, as of a moment ago."""
        until, count = self._counted.get(collection, (0.0, 0))
        before = time.monotonic()
        if before >= until:
            count = self._medley.collections.store(collection).counts(published_index(self._medley, collection)).waiting
            now = time.monotonic()
            self._counted[collection] = now + max(_FRESH_SECONDS, _SHARE * (now - before)), count
        return count
