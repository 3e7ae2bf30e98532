"""The slots that a filter and a caller's labels allow, kept for as long as a commit is searched."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
KEPT: Final = 64
"""Masks of one commit, a bit for each slot: 1.25 MB of ten million."""
LISTED_BYTES: Final = 256_000_000
"""Of the last ones the slots themselves are kept, up to so many bytes: ten million take 80 MB, and 50 ms to list again."""


class SlotMasks:
    """Slots by what they were asked for, ascending; the least recently used go first. Threads can share it."""

    def __init__(self) -> None:
        self._listed: OrderedDict[Hashable, Slots] = OrderedDict()
        self._packed: OrderedDict[Hashable, NDArray[np.uint8]] = OrderedDict()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], Slots]) -> Slots:
        """The slots of `key`, found by `find` unless they are known; of several threads that ask, one finds them."""
        with self._lock:
            if (slots := self._known(key)) is not None:
                return slots
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if (slots := self._known(key)) is not None:
                    return slots
                packed = self._packed.get(key)
            try:
                slots = find() if packed is None else np.flatnonzero(np.unpackbits(packed))
                self._keep(key, slots, _pack(slots) if packed is None else packed)
            finally:
                with self._lock:
                    self._turns.pop(key, None)
            return slots

    def _known(self, key: Hashable) -> Slots | None:
        if key in self._listed:
            self._listed.move_to_end(key)
            self._packed.move_to_end(key)
        return self._listed.get(key)

    def _keep(self, key: Hashable, slots: Slots, packed: NDArray[np.uint8]) -> None:
        with self._lock:
            self._listed[key], self._packed[key] = slots, packed
            self._packed.move_to_end(key)
            while len(self._listed) > 1 and sum(item.nbytes for item in self._listed.values()) > LISTED_BYTES:
                self._listed.popitem(last=False)
            if len(self._packed) > KEPT:
                oldest, _ = self._packed.popitem(last=False)
                self._listed.pop(oldest, None)


def _pack(slots: Slots) -> NDArray[np.uint8]:
    mask = np.zeros(int(slots[-1]) + 1 if len(slots) else 0, np.bool_)
    mask[slots] = True
    return np.packbits(mask)
