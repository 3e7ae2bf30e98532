"""Turns for documents: a bulk request sends hundreds at once, of which a few are read and few others wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from encoders.batching import Capacity, Overloaded

WAIT_SECONDS: Final = 0.1
"""How long a document waits for its turn. A node lets hundreds of documents wait ten seconds for the connections that these
hold, and fails those that got none; so a connection must come free sooner than documents are read."""


class Turns:
    """Room for `running` documents that are read at the same time, and for `present` ones with those that wait for it."""

    def __init__(self, running: int, present: int) -> None:
        self.running, self.present = running, present
        self._free = threading.BoundedSemaphore(running)
        self._room = Capacity(present, "documents")

    @contextmanager
    def take(self) -> Iterator[None]:
        """Run the block when it is its turn. Raises `Overloaded`, at once or after a short wait."""
        with self._room.hold(1):
            if not self._free.acquire(timeout=WAIT_SECONDS):
                raise Overloaded("other documents are being read; try again in a moment")
            try:
                yield
            finally:
                self._free.release()
