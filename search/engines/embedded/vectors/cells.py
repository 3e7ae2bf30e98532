"""Cells of a large index: rows by the nearest of 4,096 centroids, so that a search looks at those near its query alone.

This is an inverted file with a coarse quantiser (Jégou, Douze and Schmid 2011, "Product quantization for nearest neighbor
search", section IV), here of two levels: k-means on the unit sphere makes 64 groups of a sample, and 64 cells of each group. A
row is compared with 128 centroids, a query with all cells. Cells are made in a thread of their own, in memory, from the int8
rows; until they are there, and for rows that came since, a search looks at all rows.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.slots.rows import is_empty

Slots = NDArray[np.int64]
Floats = NDArray[np.float32]

CELLS_FROM: Final = 400_000
"""Indexes with fewer rows have no cells: signs alone are as fast."""
SHARE: Final = 0.08
"""The share of the rows that a search looks at: of 1.57 million, .996 of the 100 documents nearest to 60 claims are found."""
_GROUPS: Final = 64
_SAMPLE: Final = 80_000
_ROUNDS: Final = 6
_BLOCK: Final = 65_536
_LATE: Final = 0.05
"""The share of rows without a cell from which on they get one."""
_OUTGROWN: Final = 2
"""Of an index that has grown by this factor the centroids are made anew."""
_NO_CELL: Final = np.uint16(65_535)
_THREAD: Final = "cells"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of the first `len(numbers)` slots of an index.

    `groups` (g, d) and `centroids` (g * g, d) are unit vectors; `numbers` has the cell of each slot. Each slot has a place:
    `order` has the slots in the order of their places, those of one cell after the other, `places` the place of each slot;
    cell `c` has the places from `starts[c]` to `starts[c + 1]`. The last places are of rows without a vector, in no cell.
    """

    groups: Floats
    centroids: Floats
    numbers: NDArray[np.uint16]
    order: NDArray[np.int32]
    places: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Floats, centroids: Floats, numbers: NDArray[np.uint16]) -> Cells:
        """The cells by the number of each slot."""
        order = np.argsort(numbers, kind="stable").astype(np.int32)
        places = np.empty_like(order)
        places[order] = np.arange(len(order), dtype=np.int32)
        starts = np.searchsorted(numbers[order], np.arange(len(centroids) + 1))
        return cls(groups, centroids, numbers, order, places, starts)

    def places_of(self, slots: Slots) -> Slots:
        """The place of each of `slots`, which ascend; that of a slot without a cell yet is its own number."""
        known = int(np.searchsorted(slots, len(self.places)))
        return np.concatenate([self.places[slots[:known]], slots[known:]])

    def numbers_of(self, slots: Slots | slice) -> Slots:
        """The number of the cell of each of `slots`; one more than the last cell's of a row that is in none."""
        return np.minimum(self.numbers[slots].astype(np.int64), len(self.centroids))

    def near(self, slots: Slots, rows: int, products: Floats, least: int) -> NearCells:
        """What is in the cells nearest to a query, of `slots`, which ascend, in an index with so many `rows`.

        `products` are the query's with `centroids`. Cells are taken until they hold `SHARE` of the slots and `least` of them;
        slots without a cell yet are all in.
        """
        whole = max(rows, len(self.order))
        allowed = _mask(slots, whole) if len(slots) < whole else None
        nearest = np.argsort(-products)
        held = np.cumsum(np.diff(self.starts)[nearest])
        known = int(np.searchsorted(slots, len(self.order)))
        wanted = max(SHARE * known, least)
        share = wanted / max(known, 1)
        while True:
            cells = nearest[: int(np.searchsorted(held, share * len(self.order))) + 1]
            spans = [slice(self.starts[cell], self.starts[cell + 1]) for cell in cells.tolist()]
            found = np.concatenate([self.order[span] for span in spans])
            kept = None if allowed is None else allowed[found]
            if share >= 1 or (len(found) if kept is None else np.count_nonzero(kept)) >= wanted:
                break
            share *= 2
        late = np.arange(len(self.order), rows)
        seen = np.concatenate([found, late])
        bases = np.repeat(products[cells], [span.stop - span.start for span in spans])
        return NearCells(
            [*spans, slice(len(self.order), rows)],
            seen,
            np.concatenate([bases, np.zeros(len(late), np.float32)]),
            None if allowed is None else allowed[seen],
        )


class NearCells(NamedTuple):
    """Places of some cells; in the same order the slots at these places, and which of them were asked for, None: all.

    `bases` are the products of the query with the centroids of the cells, 0 of rows without a cell.
    """

    spans: Sequence[slice]
    slots: Slots
    bases: Floats
    wanted: NDArray[np.bool_] | None


class GrowingCells:
    """Makes the cells of one field's rows in an index, in the background. Threads can share it."""

    def __init__(self, use: Callable[[Cells, NDArray[np.int8], Floats], None]) -> None:
        self._use = use
        self._cells: Cells | None = None
        self._made_of = 0
        self._working = False
        self._lock = threading.Lock()

    @staticmethod
    def are_for(rows: int) -> bool:
        """Whether an index with so many rows has cells, sooner or later."""
        return rows >= CELLS_FROM

    def follow(self, coarse: NDArray[np.int8], scale: Floats) -> None:
        """Begin to make cells of `coarse` rows if too many of them have none; what is made is given to `use`, with the rows."""
        if self._is_current(len(coarse)):
            return
        with self._lock:
            if self._working or self._is_current(len(coarse)):
                return
            self._working = True
        threading.Thread(target=self._work, args=(coarse, scale), name=_THREAD, daemon=True).start()

    def _is_current(self, rows: int) -> bool:
        cells = self._cells
        known = len(cells.numbers) if cells else 0
        return not self.are_for(rows) or rows - known <= _LATE * rows

    def _work(self, coarse: NDArray[np.int8], scale: Floats) -> None:
        try:
            cells = self._cells
            if cells is None or len(coarse) > _OUTGROWN * self._made_of:
                groups, centroids = train(coarse, scale)
                made, self._made_of = Cells.of(groups, centroids, assign(groups, centroids, coarse, scale)), len(coarse)
            else:
                known = len(cells.numbers)
                late = assign(cells.groups, cells.centroids, coarse, scale, known)
                made = Cells.of(cells.groups, cells.centroids, np.concatenate([cells.numbers, late]))
            self._use(made, coarse, scale)
        except Exception:  # searches go on without; trying again would fail again
            _log.exception("cells could not be made: searches look at all rows")
            return
        self._cells, self._working = made, False


def await_cells() -> None:
    """Return when no thread of this process makes cells any more."""
    for thread in threading.enumerate():
        if thread.name == _THREAD:
            thread.join()


def train(coarse: NDArray[np.int8], scale: Floats) -> tuple[Floats, Floats]:
    """(the centroids of the groups, (g, d); those of the cells, (g * g, d), a group's one after the other), from a sample."""
    draw = np.random.default_rng(0)
    written = np.flatnonzero(~is_empty(scale[:, 0]))
    chosen = np.sort(draw.choice(written, min(len(written), _SAMPLE), replace=False))
    sample = _unit(coarse[chosen].astype(np.float32))
    groups = _means(sample, _GROUPS, draw)
    own = (sample @ groups.T).argmax(axis=1)
    cells = [
        _means(sample[own == group] if (own == group).any() else sample, _GROUPS, draw) for group in range(_GROUPS)
    ]
    return groups, np.concatenate(cells)


def assign(
    groups: Floats, centroids: Floats, coarse: NDArray[np.int8], scale: Floats, first: int = 0
) -> NDArray[np.uint16]:
    """The cell of each row from `first` on: the nearest of the nearest group."""
    cells = centroids.reshape(len(groups), -1, centroids.shape[1])
    numbers = np.full(len(coarse) - first, _NO_CELL)
    for start in range(0, len(numbers), _BLOCK):
        rows = coarse[first + start : first + start + _BLOCK].astype(np.float32)
        own = (rows @ groups.T).argmax(axis=1)
        for group in np.unique(own):
            members = np.flatnonzero(own == group)
            nearest = (rows[members] @ cells[group].T).argmax(axis=1)
            numbers[start + members] = group * cells.shape[1] + nearest
    numbers[is_empty(scale[first:, 0])] = _NO_CELL
    return numbers


def _means(rows: Floats, count: int, draw: np.random.Generator) -> Floats:
    """`count` unit vectors by k-means on the unit sphere (Dhillon and Modha 2001), from rows drawn at random."""
    centroids = rows[draw.choice(len(rows), count, replace=len(rows) < count)]
    for _ in range(_ROUNDS):
        own = (rows @ centroids.T).argmax(axis=1)
        sums = np.eye(count, dtype=np.float32)[own].T @ rows
        centroids = np.where(np.any(sums, axis=1, keepdims=True), _unit(sums), centroids)
    return centroids


def _unit(rows: Floats) -> Floats:
    lengths: Floats = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9))
    return rows / lengths


def _mask(slots: Slots, rows: int) -> NDArray[np.bool_]:
    mask = np.zeros(rows, np.bool_)
    mask[slots] = True
    return mask
