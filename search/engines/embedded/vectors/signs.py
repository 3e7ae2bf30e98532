"""The signs of vectors, one bit a coordinate: how many differ tells roughly how far apart two vectors are.

A scan of them reads an eighth of what the int8 rows are. They are computed from these rows, once for each slot, since a
written slot never changes, and kept in memory: 52 bytes a row of 384 dimensions. (Charikar 2002, "Similarity estimation
techniques from rounding algorithms", with the axes themselves as the hyperplanes.) Rows in cells have the signs of what they
differ by from their cell's centroid, which tell more (`search.engines.embedded.vectors.codes`).
"""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.slots.rows import is_empty
from search.engines.embedded.vectors.cells import Cells
from search.engines.embedded.vectors.codes import asked_code, estimates, factors, pack_signs
from search.engines.embedded.vectors.scans import Distances, Words, distances, inner

Slots = NDArray[np.int64]
Floats = NDArray[np.float32]
_BLOCK: Final = 4_096
"""So many rows at a time stay in the cache: larger blocks took five times as long."""
_ROOM: Final = 1 / 8
"""How much room is kept for further slots, so that not every commit copies all signs."""
_GATHER_BELOW: Final = 0.25
"""Below this share of the slots only theirs are looked at."""
_SAMPLED: Final = 64
_FAR: Final = np.uint16(65_535)


class Signs(NamedTuple):
    """The codes of the first `rows` slots: `bits` (words, places), `factors` (places,), and the slots without a vector, ascending.

    A slot's place is its number, or the one that `cells` give it.
    """

    bits: Words
    factors: Floats
    empty: Slots
    rows: int
    cells: Cells | None


class SignBits:
    """The codes of one field's rows in an index; they grow with its slots. Threads can share it."""

    def __init__(self, dimension: int) -> None:
        self._bits = np.empty((-(-dimension // 64), 0), np.uint64)
        self._factors = np.empty(0, np.float32)
        self._known = 0
        self._empty = np.empty(0, np.int64)
        self._cells: Cells | None = None
        self._lock = threading.Lock()

    def of(self, coarse: NDArray[np.int8], scale: Floats) -> Signs:
        """The codes of all `coarse` rows."""
        rows = len(coarse)
        with self._lock:
            if rows > self._known:
                self._add(coarse, scale)
            bits, own, empty, cells = self._bits, self._factors, self._empty, self._cells
        # An older snapshot has fewer slots than a newer one has signs.
        places = max(rows, len(cells.order)) if cells else rows
        return Signs(bits[:, :places], own[:places], empty[: np.searchsorted(empty, rows)], rows, cells)

    def arrange(self, cells: Cells, coarse: NDArray[np.int8], scale: Floats) -> None:
        """Keep the codes of the `coarse` rows in the order of their `cells`, as what differs from the centroids."""
        known = len(cells.order)
        bits, own = _with_room(self._bits[:, :0], known), _with_room(self._factors[:0], known)
        centroids = np.concatenate([cells.centroids, np.zeros_like(cells.centroids[:1])])
        for start in range(0, known, _BLOCK):
            block = slice(start, min(start + _BLOCK, known))
            rests = coarse[block] * scale[block] - centroids[cells.numbers_of(block)]
            bits[:, cells.places[block]], own[cells.places[block]] = pack_signs(rests).T, factors(rests)
        with self._lock:
            if self._known > own.shape[0]:
                bits, own = _with_room(bits[:, :known], self._known), _with_room(own[:known], self._known)
            late = slice(known, self._known)
            bits[:, late], own[late] = self._bits[:, late], self._factors[late]
            self._bits, self._factors, self._cells = bits, own, cells

    def _add(self, coarse: NDArray[np.int8], scale: Floats) -> None:
        known, rows = self._known, len(coarse)
        if rows > len(self._factors):
            self._bits = _with_room(self._bits[:, :known], rows)
            self._factors = _with_room(self._factors[:known], rows)
        for start in range(known, rows, _BLOCK):
            block = slice(start, min(start + _BLOCK, rows))
            self._bits[:, block] = pack_signs(coarse[block]).T
            self._factors[block] = factors(coarse[block] * scale[block])
        self._empty = np.concatenate([self._empty, known + np.flatnonzero(is_empty(scale[known:, 0]))])
        self._known = rows


def _with_room(held: NDArray[Any], rows: int) -> NDArray[Any]:
    """A copy of `held` whose last axis has room for `rows` and some more."""
    grown = np.empty((*held.shape[:-1], rows + int(rows * _ROOM)), held.dtype)
    grown[..., : held.shape[-1]] = held
    return grown


def nearest_by_signs(signs: Signs, slots: Slots, query: Floats, count: int) -> Slots:
    """At least `count` of `slots`, both ascending, whose signs differ least from those of `query`; ties are all in.

    Rows without a vector come last. There must be no cells.
    """
    asked = pack_signs(query[None])[0]
    if len(slots) >= _GATHER_BELOW * signs.rows:
        found = distances(signs.bits, asked)
        own = found if len(slots) == signs.rows else found[slots]
    else:
        own = distances(signs.bits[:, slots], asked)
    if len(signs.empty):
        own[np.isin(slots, signs.empty, assume_unique=True)] = _FAR
    return slots[np.flatnonzero(own <= _farthest(own, count, 64 * len(signs.bits)))]


def nearest_by_codes(signs: Signs, cells: Cells, slots: Slots, query: Floats, count: int, least: int) -> Slots:
    """`count` of `slots`, both ascending, whose estimated products with `query` are the largest.

    Of many slots those in the cells near the query are looked at, at least `least`; if fewer than `count` have a vector, all
    these are found. Other rows without a vector come last.
    """
    products, asked = inner(cells.centroids, query), asked_code(query)
    if len(slots) >= _GATHER_BELOW * signs.rows:
        near = cells.near(slots, signs.rows, products, least)
        bits = np.concatenate([signs.bits[:, span] for span in near.spans], axis=1)
        own = np.concatenate([signs.factors[span] for span in near.spans])
        found, seen = estimates(bits, own, near.bases, asked), near.slots
        if near.wanted is not None:
            found, seen = found[near.wanted], seen[near.wanted]
    else:
        places, known = cells.places_of(slots), int(np.searchsorted(slots, len(cells.order)))
        bases = np.zeros(len(slots), np.float32)
        bases[:known] = np.append(products, 0)[cells.numbers_of(slots[:known])]
        found, seen = estimates(signs.bits[:, places], signs.factors[places], bases, asked), slots
    if len(signs.empty):
        found[np.isin(seen, signs.empty, assume_unique=True)] = -np.inf
    if count < len(seen):
        seen = seen[np.argpartition(-found, count)[:count]]
    return np.sort(seen)


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
