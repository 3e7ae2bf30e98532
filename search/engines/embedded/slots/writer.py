"""Appends slots: files are synchronised before the word index commits, so no commit refers to a slot that can be lost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.slots.columns import Column, Rows, sync_file, write_at
from search.engines.embedded.slots.rows import IDS, columns, id_bytes, id_ends, quantise


class SlotWriter:
    """Appends to all files together. The caller's lock ensures that one process writes at a time."""

    def __init__(self, folder: Path, fields: Mapping[str, int]) -> None:
        self._vectors = columns(folder, fields)
        self._ends = id_ends(folder)
        flat = [self._ends, *(part for parts in self._vectors.values() for part in parts)]
        with ExitStack() as opened:  # closed again where one can't be opened, or a full disk has no room to align them
            self._files = {column: _open(column, opened) for column in flat}
            self._ids = _open(id_bytes(folder), opened)
            self._id_bytes = self._last_end()
            self.rows = self._align()
            self._opened = opened.pop_all()
        self._synced = (self.rows, self._id_bytes)

    def append(self, ids: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]) -> int:
        """Write one slot for each passage id; returns the number of the first. `vectors[field]` has shape (len(ids), d)."""
        first = self.rows
        encoded = [identifier.encode() for identifier in ids]
        ends = self._id_bytes + np.cumsum([len(item) for item in encoded], dtype=np.uint64)
        write_at(self._ids, b"".join(encoded), self._id_bytes)
        self._put(self._ends, ends[:, None], first)
        for name, parts in self._vectors.items():
            for column, rows in zip(parts, quantise(vectors[name]), strict=True):
                self._put(column, rows, first)
        self.rows += len(ids)
        self._id_bytes = int(ends[-1]) if len(ids) else self._id_bytes
        return first

    def sizes(self) -> dict[str, int]:
        """The length in bytes of each file, by name, as far as it is used."""
        return {IDS: self._id_bytes} | {column.path.name: self.rows * column.row_bytes for column in self._files}

    def sync(self) -> None:
        """Make all slots durable; synchronised slots can no longer be rolled back."""
        for descriptor in (self._ids, *self._files.values()):
            sync_file(descriptor)
        self._synced = (self.rows, self._id_bytes)

    def rollback(self) -> None:
        """Truncate the slots appended since the last `sync`: no commit refers to them, so no reader has mapped them."""
        self.rows, self._id_bytes = self._synced
        os.ftruncate(self._ids, self._id_bytes)
        for column, descriptor in self._files.items():
            os.ftruncate(descriptor, self.rows * column.row_bytes)

    def close(self) -> None:
        """Release the files."""
        self._opened.close()

    def _put(self, column: Column, rows: Rows, first: int) -> None:
        write_at(self._files[column], np.ascontiguousarray(rows, column.dtype).tobytes(), first * column.row_bytes)

    def _last_end(self) -> int:
        # Not the size of the ids file: after a kill it can have ids whose ends were never written, and the next id
        # would start with them.
        descriptor = self._files[self._ends]
        known = os.fstat(descriptor).st_size // self._ends.row_bytes
        if not known:
            return 0
        return int(np.frombuffer(os.pread(descriptor, 8, (known - 1) * self._ends.row_bytes), np.uint64)[0])

    def _align(self) -> int:
        # A kill leaves files of different lengths. They are extended, never truncated: a commit that a reader has open
        # can refer to slots that this writer's view of the index no longer does.
        rows = max(-(-os.fstat(item).st_size // column.row_bytes) for column, item in self._files.items())
        known = os.fstat(self._files[self._ends]).st_size // self._ends.row_bytes
        missing = np.full((rows - known, 1), self._id_bytes, np.uint64)
        self._put(self._ends, missing, known)
        for column, descriptor in self._files.items():
            os.ftruncate(descriptor, rows * column.row_bytes)
        return rows


def _open(column: Column, opened: ExitStack) -> int:
    """The descriptor of a column's file, which is made where it is missing, and closed with `opened`."""
    descriptor = os.open(column.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    opened.callback(os.close, descriptor)
    return descriptor
