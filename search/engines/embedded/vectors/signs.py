"""The signs of vectors, one bit a coordinate: how many differ tells roughly how far apart two vectors are.

A scan of them reads an eighth of what the int8 rows are. They are computed from these rows, once for each slot, since a
written slot never changes, and kept in memory: 48 bytes a row of 384 dimensions. (Charikar 2002, "Similarity estimation
techniques from rounding algorithms", with the axes themselves as the hyperplanes.)
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.sidecar import is_empty
from search.engines.embedded.vectors.scans import distances

_BLOCK: Final = 65_536
_FAR: Final = np.uint16(65_535)


class SignBits:
    """The signs of one field's rows in an index; they grow with its slots. Threads can share it."""

    def __init__(self, dimension: int) -> None:
        self._bits = np.empty((0, (dimension + 7) // 8), np.uint8)
        self._empty = np.empty(0, np.int64)
        self._lock = threading.Lock()

    def of(self, coarse: NDArray[np.int8], scale: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """(bits of all `coarse` rows, shape (rows, bytes); the slots of those without a vector, ascending)."""
        with self._lock:
            known = len(self._bits)
            if len(coarse) > known:
                starts = range(known, len(coarse), _BLOCK)
                fresh = [np.packbits(coarse[start : start + _BLOCK] > 0, axis=1) for start in starts]
                self._bits = np.concatenate([self._bits, *fresh])
                self._empty = np.concatenate([self._empty, known + np.flatnonzero(is_empty(scale[known:, 0]))])
            bits, empty = self._bits, self._empty
        # An older snapshot has fewer slots than a newer one has signs.
        return bits[: len(coarse)], empty[: np.searchsorted(empty, len(coarse))]


def make_signs(dimensions: Mapping[str, int]) -> dict[str, SignBits]:
    """Vector field -> its signs, none computed yet; `dimensions` are those of the fields."""
    return {name: SignBits(size) for name, size in dimensions.items()}


def nearest_by_signs(
    signs: tuple[NDArray[np.uint8], NDArray[np.int64]], slots: NDArray[np.int64], query: NDArray[np.float32], count: int
) -> NDArray[np.int64]:
    """At least `count` of `slots`, in their order, whose signs differ least from those of `query`; ties are all in.

    Rows without a vector come last.
    """
    bits, empty = signs
    found = distances(bits, np.packbits(query > 0))
    found[empty] = _FAR
    own = found if len(slots) == len(bits) else found[slots]
    last = min(count, len(own)) - 1
    farthest = min(np.partition(own, last)[last], _FAR - np.uint16(1)) if last >= 0 else _FAR
    return slots[np.flatnonzero(own <= farthest)]
