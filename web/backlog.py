"""How much waits to be indexed: asked before more is taken, and shown to those who run the portal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mappings.errors import MedleyError

if TYPE_CHECKING:
    from search.bootstrap import Medley

RETRY_SECONDS: Final = 10
"""When a sender who was refused may come again: a batch or two of an encoder later."""

_FRESH_SECONDS: Final = 1.0
_SHARE: Final = 10
"""A count of millions takes a while: it is made so seldom that it takes a tenth of the time at most."""


class Overloaded(MedleyError):
    """So much waits to be indexed that no more is taken for a while."""

    code = "overloaded"
    status = 429
    retry_after = RETRY_SECONDS


class Backlog:
    """The changes that wait in each collection, counted about once a second at most; threads may share it."""

    def __init__(self, medley: Medley) -> None:
        self._medley = medley
        self._counted: dict[str, tuple[float, int]] = {}

    def check(self, collection: str) -> None:
        """Raise `Overloaded` while as much waits in `collection` as the settings allow."""
        limit, waiting = self._medley.settings.backlog, self.waiting(collection)
        if waiting >= limit:
            raise Overloaded(
                f"{waiting:,} changes of {collection!r} wait to be indexed, and no more are taken from {limit:,} on: "
                f"send it again in {RETRY_SECONDS} seconds"
            )

    def waiting(self, collection: str) -> int:
        """How many changes wait, as of a moment ago."""
        until, count = self._counted.get(collection, (0.0, 0))
        before = time.monotonic()
        if before >= until:
            count = self._medley.collections.store(collection).counts(published(self._medley, collection)).waiting
            now = time.monotonic()
            self._counted[collection] = now + max(_FRESH_SECONDS, _SHARE * (now - before)), count
        return count


def published(medley: Medley, collection: str) -> str:
    """The index that answers for a collection; empty, as nothing was settled in it, before there is one."""
    return medley.engine.published(collection) or ""
