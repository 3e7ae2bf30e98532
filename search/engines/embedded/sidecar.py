"""Append-only files beside the word index: passage ids and vectors by slot number, read through memory maps.

A written slot never changes and is never reused, so any process can map the files while one appends. Files are
synchronised before the word index commits; slots that no committed passage refers to are dead.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mappings.documents import parse_passage_id

Rows = NDArray[Any]
IDS: Final = "ids.bin"
ENDS: Final = "ids.end"
MAPPED_BYTES: Final = 256_000_000
"""The rows of vectors in a larger file are not mapped: a search needs some thousands of them."""
_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)  # Linux has it
_LEVELS: Final = 127
_UNWRITTEN: Final = np.float32(1.0)
"""The scale of a row of a document that was written without vectors; that of a vector is its largest value by 127."""
_ZERO: Final = np.float32(2.0)
"""The scale of a row of zeros, which never ranks: a discourse model read nothing of it."""


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


def columns(folder: Path, fields: Mapping[str, int]) -> dict[str, tuple[Column, Column, Column]]:
    """For each vector field of dimension d: float16 rows, int8 rows, and the float32 scale of each int8 row."""
    return {
        name: (
            _column(folder / f"{name}.f16", np.float16, dimension),
            _column(folder / f"{name}.i8", np.int8, dimension),
            _column(folder / f"{name}.scale", np.float32, 1),
        )
        for name, dimension in fields.items()
    }


def _column(path: Path, dtype: DTypeLike, width: int) -> Column:
    return Column(path, np.dtype(dtype), width)


def quantise(vectors: NDArray[np.float32]) -> tuple[Rows, Rows, Rows]:
    """Float16 rows, int8 rows and scales, so that `scale * int8` approximates the row to 1/254 of its largest value.

    Rows of NaN are those of documents without vectors: they become zero, and `is_unwritten`.
    """
    unwritten = np.isnan(vectors).any(axis=1, keepdims=True)
    vectors = np.where(unwritten, np.float32(0), vectors)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0, largest / _LEVELS, np.where(unwritten, _UNWRITTEN, _ZERO)).astype(np.float32)
    return vectors.astype(np.float16), np.rint(vectors / scale).astype(np.int8), scale


def is_empty(scales: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows with these scales are zero, for whatever reason."""
    return np.asarray(scales >= _UNWRITTEN)


def is_unwritten(scales: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows with these scales are of documents that were written without vectors."""
    return np.asarray(scales == _UNWRITTEN)


class SlotReader:
    """Passage ids and vectors of the first `rows` slots."""

    def __init__(self, folder: Path, fields: Mapping[str, int], rows: int) -> None:
        self.rows = rows
        self._ends = _column(folder / ENDS, np.uint64, 1).map(rows)[:, 0]
        size = int(self._ends[-1]) if rows else 0
        self._ids = _column(folder / IDS, np.uint8, 1).map(size)[:, 0].data
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
    file = folder / ENDS
    return file.stat().st_size // _column(file, np.uint64, 1).row_bytes if file.exists() else 0


class SlotWriter:
    """Appends to all files together. The caller's lock ensures that one process writes at a time."""

    def __init__(self, folder: Path, fields: Mapping[str, int]) -> None:
        self._vectors = columns(folder, fields)
        self._ends = _column(folder / ENDS, np.uint64, 1)
        flat = [self._ends, *(part for parts in self._vectors.values() for part in parts)]
        self._files = {column: os.open(column.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for column in flat}
        self._ids = os.open(folder / IDS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._id_bytes = self._last_end()
        self.rows = self._align()
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
        for descriptor in (self._ids, *self._files.values()):
            os.close(descriptor)

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


def sync_file(descriptor: int) -> None:
    """Make what was written to a file durable."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has no fdatasync


def write_at(descriptor: int, content: bytes, offset: int) -> None:
    """Write all of `content` at `offset`."""
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
