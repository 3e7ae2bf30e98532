"""The signs of vectors, one bit a coordinate: how many differ tells roughly how far apart two vectors are.

A scan of them reads an eighth of what the int8 rows are. They are computed from these rows, once for each slot, since a
written slot never changes, and kept in memory: 48 bytes a row of 384 dimensions. (Charikar 2002, "Similarity estimation
techniques from rounding algorithms", with the axes themselves as the hyperplanes.)
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.sidecar import is_empty
from search.engines.embedded.vectors.scans import Distances, Words, distances

_BLOCK: Final = 65_536
_ROOM: Final = 1 / 8
"""How much room is kept for further slots, so that not every commit copies all signs."""
_GATHER_BELOW: Final = 0.25
"""Below this share of the slots only theirs are looked at."""
_SAMPLED: Final = 64
_FAR: Final = np.uint16(65_535)


class SignBits:
    """The signs of one field's rows in an index; they grow with its slots. Threads can share it."""

    def __init__(self, dimension: int) -> None:
        self._bits = np.empty((-(-dimension // 64), 0), np.uint64)
        self._known = 0
        self._empty = np.empty(0, np.int64)
        self._lock = threading.Lock()

    def of(self, coarse: NDArray[np.int8], scale: NDArray[np.float32]) -> tuple[Words, NDArray[np.int64]]:
        """(signs of all `coarse` rows, shape (words, rows); the slots of those without a vector, ascending)."""
        with self._lock:
            if len(coarse) > self._known:
                self._add(coarse, scale)
            bits, empty = self._bits, self._empty
        # An older snapshot has fewer slots than a newer one has signs.
        return bits[:, : len(coarse)], empty[: np.searchsorted(empty, len(coarse))]

    def _add(self, coarse: NDArray[np.int8], scale: NDArray[np.float32]) -> None:
        known, rows = self._known, len(coarse)
        if rows > self._bits.shape[1]:
            grown = np.empty((len(self._bits), rows + int(rows * _ROOM)), np.uint64)
            grown[:, :known] = self._bits[:, :known]
            self._bits = grown
        for start in range(known, rows, _BLOCK):
            block = coarse[start : start + _BLOCK]
            self._bits[:, start : start + len(block)] = pack_signs(block).T
        self._empty = np.concatenate([self._empty, known + np.flatnonzero(is_empty(scale[known:, 0]))])
        self._known = rows


def pack_signs(vectors: NDArray[Any]) -> Words:
    """The signs of vectors, shape (n, d), as words of 64 bits, shape (n, words); what is left of the last one is zeros."""
    packed = np.packbits(vectors > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def make_signs(dimensions: Mapping[str, int]) -> dict[str, SignBits]:
    """Vector field -> its signs, none computed yet; `dimensions` are those of the fields."""
    return {name: SignBits(size) for name, size in dimensions.items()}


def nearest_by_signs(
    signs: tuple[Words, NDArray[np.int64]], slots: NDArray[np.int64], query: NDArray[np.float32], count: int
) -> NDArray[np.int64]:
    """At least `count` of `slots`, in their order, whose signs differ least from those of `query`; ties are all in.

    Rows without a vector come last.
    """
    bits, empty = signs
    asked, rows = pack_signs(query[None])[0], bits.shape[1]
    if len(slots) < _GATHER_BELOW * rows:
        own = distances(bits[:, slots], asked)
        own[np.isin(slots, empty, assume_unique=True)] = _FAR
    else:
        found = distances(bits, asked)
        found[empty] = _FAR
        own = found if len(slots) == rows else found[slots]
    return slots[np.flatnonzero(own <= _farthest(own, count, 64 * len(bits)))]


def _farthest(own: Distances, count: int, most: int) -> np.uint16:
    """The least distance, at most `most`, within which `count` rows are; a sample tells it nearly, each pass is fast."""
    sample = own[::_SAMPLED]
    if not len(sample):
        return _FAR
    place = min(count // _SAMPLED, len(sample) - 1)
    least = min(int(np.partition(sample, place)[place]), most)
    while least < most and np.count_nonzero(own <= np.uint16(least)) < count:
        least += 1
    while least > 0 and np.count_nonzero(own <= np.uint16(least - 1)) >= count:
        least -= 1
    return np.uint16(least)
