"""Passage ids and vectors by slot number, in append-only files beside the word index.

A written slot never changes and is never reused, so any process can map the files while one appends. Slots that no
committed passage refers to are dead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mappings.documents import parse_passage_id
from search.engines.embedded.slots.rows import columns, id_bytes, id_ends, is_unwritten


class SlotReader:
    """Passage ids and vectors of the first `rows` slots."""

    def __init__(self, folder: Path, fields: Mapping[str, int], rows: int) -> None:
        self.rows = rows
        self._ends = id_ends(folder).map(rows)[:, 0]
        size = int(self._ends[-1]) if rows else 0
        self._ids = id_bytes(folder).map(size)[:, 0].data
        self.vectors = {
            name: (exact.open(rows), coarse.open(rows), scale.map(rows))
            for name, (exact, coarse, scale) in columns(folder, fields).items()
        }

    def without_vectors(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of `slots` that were written without vectors."""
        scales = [parts[2] for parts in self.vectors.values()]
        return slots[is_unwritten(scales[0][slots, 0])] if scales else slots[:0]

    def documents_without_vectors(self, firsts: NDArray[np.int64]) -> int:
        """How many documents have passages that were written without vectors; `firsts` are the passages' first slots."""
        empty = self.without_vectors(firsts)
        return len({parse_passage_id(item)[0] for item in self.passage_ids(empty.tolist())})

    def passage_ids(self, slots: Sequence[int]) -> list[str]:
        """The passage id in each slot."""
        wanted = np.asarray(slots, np.int64)
        ends = self._ends[wanted].tolist()
        starts = np.where(wanted > 0, self._ends[wanted - 1], 0).tolist()
        return [str(self._ids[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]


def slots_of_runs(firsts: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every slot of the runs that start at `firsts` and are `rows` long."""
    starts = np.cumsum(rows) - rows
    return np.repeat(firsts - starts, rows) + np.arange(rows.sum())


def without_slots(slots: NDArray[np.int64], removed: NDArray[np.int64]) -> NDArray[np.int64]:
    """`slots`, ascending, except `removed`."""
    places = np.searchsorted(slots, removed)
    found = places < len(slots)
    found[found] = slots[places[found]] == removed[found]
    return np.delete(slots, places[found])


def written_slots(folder: Path) -> int:
    """How many slots the files hold, dead ones included."""
    ends = id_ends(folder)
    return ends.path.stat().st_size // ends.row_bytes if ends.path.exists() else 0
