"""Files of rows of one type and width: mapped, or read a few rows at a time, and written at any place."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]
MAPPED_BYTES: Final = 256_000_000
"""The rows of vectors in a larger file are not mapped: a search needs some thousands of them."""
_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)  # Linux has it


@dataclass(frozen=True, slots=True)
class Column:
    """A file of rows of one type and width."""

    path: Path
    dtype: np.dtype[Any]
    width: int

    @property
    def row_bytes(self) -> int:
        """The size of one row."""
        return self.dtype.itemsize * self.width

    def open(self, rows: int) -> Rows | FileRows:
        """The first `rows` rows for reading a few at a time: mapped, of a large file read from it."""
        return self.map(rows) if rows * self.row_bytes <= MAPPED_BYTES else FileRows(self, rows)

    def map(self, rows: int) -> Rows:
        """The first `rows` rows, shape (rows, width), mapped read-only: shared by all processes, loaded on access."""
        if rows == 0:
            return np.empty((0, self.width), self.dtype)
        # A plain view of the map: slicing a `memmap` creates another one each time, a hundred times slower.
        return np.memmap(self.path, self.dtype, "r", shape=(rows, self.width)).view(np.ndarray)


class FileRows:
    """Rows of a large file, read when they are asked for.

    A map would show the whole file as memory of this process soon: the system maps sixteen pages for each row that is touched.
    """

    def __init__(self, column: Column, rows: int) -> None:
        self._column, self._rows = column, rows
        self._file = os.open(column.path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, chosen: NDArray[np.int64] | slice) -> Rows:
        """The rows with these numbers, or of a slice without a step, shape (n, width)."""
        size, file = self._column.row_bytes, self._file
        if isinstance(chosen, slice):
            start, end, _ = chosen.indices(self._rows)
            content: bytes | bytearray = bytearray(max(0, end - start) * size)
            read_at(file, memoryview(content), start * size)
        else:
            begins = np.flatnonzero(np.diff(chosen, prepend=-2) != 1)  # rows that follow each other are read at once
            lengths = np.diff(begins, append=len(chosen))
            content = read_scattered(file, (chosen[begins] * size).tolist(), (lengths * size).tolist())
        return np.frombuffer(content, self._column.dtype).reshape(-1, self._column.width)


def taken(rows: Rows | FileRows, chosen: NDArray[np.int64]) -> Rows:
    """The rows with these numbers; of rows in memory, `take` was two to six times as fast as an index."""
    return rows.take(chosen, axis=0) if isinstance(rows, np.ndarray) else rows[chosen]


def read_scattered(file: int, places: Sequence[int], sizes: Sequence[int]) -> bytes | bytearray:
    """So many bytes at each of `places`, one after the other.

    What is not in memory is asked for before any of it is waited for: of 410 rows a disk takes 30 ms then, one by one 80.
    """
    if _NOWAIT is None:
        return b"".join(map(os.pread, repeat(file), sizes, places))
    content = bytearray(sum(sizes))
    whole, start = memoryview(content), 0
    late: list[tuple[memoryview, int]] = []
    for place, size in zip(places, sizes, strict=True):
        part = whole[start : start + size]
        start += size
        try:
            is_read = os.preadv(file, [part], place, _NOWAIT) == size
        except OSError:  # not in memory, or a file system that can not tell
            is_read = False
        if not is_read:
            late.append((part, place))
    for part, place in late:
        os.posix_fadvise(file, place, len(part), os.POSIX_FADV_WILLNEED)
    for part, place in late:
        read_at(file, part, place)
    return content


def read_at(file: int, part: memoryview, place: int) -> None:
    """Fill all of `part` from `place` on: one call reads two gigabytes at most. Raises `OSError` where the file ends before."""
    while part:
        count = os.preadv(file, [part], place)
        if not count:
            raise OSError("the file ends before its rows")
        part, place = part[count:], place + count


def write_at(descriptor: int, content: bytes, offset: int) -> None:
    """Write all of `content` at `offset`."""
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def sync_file(descriptor: int) -> None:
    """Make what was written to a file durable."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has no fdatasync
