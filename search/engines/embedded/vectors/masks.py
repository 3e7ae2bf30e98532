"""The slots that a filter and a caller's labels allow, kept for as long as a commit is searched."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

KEPT: Final = 32
"""Masks of one commit; the least recently used goes first."""


class SlotMasks:
    """Slots by what they were asked for. Threads can share it."""

    def __init__(self) -> None:
        self._masks: OrderedDict[Hashable, NDArray[np.int64]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
        """The slots of `key`, found by `find` unless they are known."""
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        slots = find()
        with self._lock:
            self._masks[key] = slots
            if len(self._masks) > KEPT:
                self._masks.popitem(last=False)
        return slots
