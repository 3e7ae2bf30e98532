"""The signs of vectors, one bit a coordinate: how many differ tells roughly how far apart two vectors are.

A scan of them reads an eighth of what the int8 rows are. They are computed from these rows, once for each slot, since a
written slot never changes, and kept in memory: 48 bytes a row of 384 dimensions. (Charikar 2002, "Similarity estimation
techniques from rounding algorithms", with the axes themselves as the hyperplanes.)
"""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.sidecar import is_empty
from search.engines.embedded.vectors.cells import Cells
from search.engines.embedded.vectors.scans import Distances, Words, distances

_BLOCK: Final = 65_536
_ROOM: Final = 1 / 8
"""How much room is kept for further slots, so that not every commit copies all signs."""
_GATHER_BELOW: Final = 0.25
"""Below this share of the slots only theirs are looked at."""
_SAMPLED: Final = 64
_FAR: Final = np.uint16(65_535)


class Signs(NamedTuple):
    """The signs of the first `rows` slots: `bits` (words, places), and the slots of rows without a vector, ascending.

    A slot's place is its number, or the one that `cells` give it.
    """

    bits: Words
    empty: NDArray[np.int64]
    rows: int
    cells: Cells | None


class SignBits:
    """The signs of one field's rows in an index; they grow with its slots. Threads can share it."""

    def __init__(self, dimension: int) -> None:
        self._bits = np.empty((-(-dimension // 64), 0), np.uint64)
        self._known = 0
        self._empty = np.empty(0, np.int64)
        self._cells: Cells | None = None
        self._lock = threading.Lock()

    def of(self, coarse: NDArray[np.int8], scale: NDArray[np.float32]) -> Signs:
        """The signs of all `coarse` rows."""
        rows = len(coarse)
        with self._lock:
            if rows > self._known:
                self._add(coarse, scale)
            bits, empty, cells = self._bits, self._empty, self._cells
        # An older snapshot has fewer slots than a newer one has signs.
        places = max(rows, len(cells.order)) if cells else rows
        return Signs(bits[:, :places], empty[: np.searchsorted(empty, rows)], rows, cells)

    def arrange(self, cells: Cells) -> None:
        """Keep the signs in the order of `cells`, which are of no more slots than there are signs."""
        with self._lock:
            known, arranged = len(cells.order), self._bits.copy()
            former = cells.order
            if self._cells:
                former = np.r_[self._cells.places, np.arange(len(self._cells.places), known, dtype=np.int32)][former]
            for word, own in zip(self._bits, arranged, strict=True):
                own[:known] = word[former]
            self._bits, self._cells = arranged, cells

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


def nearest_by_signs(
    signs: Signs, slots: NDArray[np.int64], query: NDArray[np.float32], count: int, least: int = 0
) -> NDArray[np.int64]:
    """At least `count` of `slots`, both ascending, whose signs differ least from those of `query`; ties are all in.

    Of many slots with cells those in the cells near the query are looked at, at least `least`; if fewer than `count` have a
    vector, all these are found. Other rows without a vector come last.
    """
    asked = pack_signs(query[None])[0]
    bits, cells, many = signs.bits, signs.cells, len(slots) >= _GATHER_BELOW * signs.rows
    if cells is not None and many:
        near = cells.near(slots, signs.rows, query, least)
        own = distances(np.concatenate([bits[:, span] for span in near.spans], axis=1), asked)
        seen = near.slots
        if near.wanted is not None:
            own, seen = own[near.wanted], seen[near.wanted]
    elif many:
        found = distances(bits, asked)
        own, seen = found if len(slots) == signs.rows else found[slots], slots
    else:
        own, seen = distances(bits[:, slots if cells is None else cells.places_of(slots)], asked), slots
    if len(signs.empty):
        own[np.isin(seen, signs.empty, assume_unique=True)] = _FAR
    return np.sort(seen[np.flatnonzero(own <= _farthest(own, count, 64 * len(bits)))])


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
