"""The compressed token vectors of an index by slot: `tokens.bin`, after a header, and where those of each slot end.

As the other files beside the word index: a written slot never changes and is never reused, so any process maps the files
while one appends. Those of a passage are in its first slot, and its other slots are empty. The header says whose they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from encoders.tokens.format import TokenFormat
from mappings.documents import Access
from mappings.errors import ModelError
from search.engines.embedded.integrity.files import damaged
from search.engines.embedded.queries import TantivyQueryCompiler
from search.engines.embedded.slots.columns import Column, sync_file, write_at
from search.engines.embedded.slots.reader import SlotReader
from search.protocols import IndexEntry

DATA: Final = "tokens.bin"
ENDS: Final = "tokens.end"
HEADER_BYTES: Final = 512
_MAGIC: Final = "medley-tokens-1"


def create_files(folder: Path, tokens: TokenFormat) -> dict[str, int]:
    """Write both files, without any slot; returns their sizes by name."""
    content = {"magic": _MAGIC, "fingerprint": tokens.fingerprint, "dimension": tokens.dimension, "codec": tokens.codec}
    header = orjson.dumps(content)
    if len(header) > HEADER_BYTES:
        raise ModelError(f"the codec has too long a name: {tokens.codec[:80]!r}", field="codec")
    for name, start in ((DATA, header.ljust(HEADER_BYTES)), (ENDS, b"")):
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            write_at(descriptor, start, 0)
            sync_file(descriptor)
        finally:
            os.close(descriptor)
    return {DATA: HEADER_BYTES, ENDS: 0}


def read_header(folder: Path) -> TokenFormat:
    """The format in the header. Raises `Damaged`."""
    try:
        with (folder / DATA).open("rb") as file:
            content = orjson.loads(file.read(HEADER_BYTES))
        if content.pop("magic") == _MAGIC:
            return TokenFormat(**content)
    except (ValueError, TypeError, LookupError, AttributeError, FileNotFoundError):
        pass
    raise damaged(folder.name, f"{DATA} has no valid header")


class SlotTokens:
    """Reads those of the first `rows` slots. Raises `Damaged` unless the header says `tokens`."""

    def __init__(self, folder: Path, tokens: TokenFormat, rows: int) -> None:
        if read_header(folder) != tokens:
            raise damaged(folder.name, f"{DATA} holds token vectors of another model than index.json says")
        self._index = folder.name
        self._ends = _ends(folder).map(rows)[:, 0]
        size = int(self._ends[-1]) if rows else 0
        self._data: NDArray[np.uint8] = Column(folder / DATA, np.dtype(np.uint8), 1).map(HEADER_BYTES + size)[:, 0]

    def read(self, slots: Sequence[int]) -> list[bytes]:
        """What each slot holds; no bytes for one without."""
        wanted = np.asarray(slots, np.int64)
        ends = self._ends[wanted].tolist()
        starts = np.where(wanted > 0, self._ends[wanted - 1], 0).tolist()
        return [self._data[HEADER_BYTES + a : HEADER_BYTES + b].tobytes() for a, b in zip(starts, ends, strict=True)]


class SlotTokensWriter:
    """Appends to both files, for the slots that a `SlotWriter` has just written. One process writes at a time."""

    def __init__(self, folder: Path, rows: int) -> None:
        with ExitStack() as opened:
            self._data, self._ends = (self._open(folder / name, opened) for name in (DATA, ENDS))
            known = min(os.fstat(self._ends).st_size // 8, rows)
            self._rows, self._size = known, self._end_of(known)
            self._fill(rows)  # after a kill, slots can have been written without these
            self._opened = opened.pop_all()
        self._synced = (self._rows, self._size)

    def append(self, first: int, entries: Sequence[IndexEntry]) -> None:
        """Write those of the entries, of which the slots begin at `first`."""
        self._fill(first)
        contents = [content for entry in entries for content in _by_row(entry)]
        write_at(self._data, b"".join(contents), HEADER_BYTES + self._size)
        ends = self._size + np.cumsum([len(content) for content in contents], dtype=np.uint64)
        write_at(self._ends, ends.astype("<u8").tobytes(), 8 * self._rows)
        self._rows += len(contents)
        self._size = int(ends[-1]) if contents else self._size

    def sizes(self) -> dict[str, int]:
        """The length in bytes of each file, by name, as far as it is used."""
        return {DATA: HEADER_BYTES + self._size, ENDS: 8 * self._rows}

    def sync(self) -> None:
        """Make all slots durable."""
        for descriptor in (self._data, self._ends):
            sync_file(descriptor)
        self._synced = (self._rows, self._size)

    def rollback(self) -> None:
        """Truncate what was appended since the last `sync`."""
        self._rows, self._size = self._synced
        for descriptor, name in ((self._data, DATA), (self._ends, ENDS)):
            os.ftruncate(descriptor, self.sizes()[name])

    def close(self) -> None:
        """Release the files."""
        self._opened.close()

    @staticmethod
    def _open(file: Path, opened: ExitStack) -> int:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        opened.callback(os.close, descriptor)
        return descriptor

    def _fill(self, rows: int) -> None:
        """Let every slot up to `rows` have an end."""
        missing = np.full(max(0, rows - self._rows), self._size, "<u8")
        write_at(self._ends, missing.tobytes(), 8 * self._rows)
        self._rows += len(missing)

    def _end_of(self, rows: int) -> int:
        return int(np.frombuffer(os.pread(self._ends, 8, 8 * (rows - 1)), "<u8")[0]) if rows else 0


class SnapshotTokens:
    """The token vectors that one commit stores, if `tokens` says so."""

    def __init__(
        self, folder: Path, tokens: TokenFormat | None, searcher: Any, slots: SlotReader, compiler: TantivyQueryCompiler
    ) -> None:
        self._searcher, self._slots, self._compiler = searcher, slots, compiler
        self._stored = SlotTokens(folder, tokens, slots.rows) if tokens else None

    def find(self, ids: Sequence[str], access: Access) -> dict[str, bytes]:
        """Those of the passages that have some, and that the caller may see."""
        if self._stored is None or not ids:
            return {}
        query = self._compiler.among("passage", ids, access)
        addresses = [address for _, address in self._searcher.search(query, len(ids), count=False).hits]
        slots = self._searcher.fast_field_values("slot", addresses)
        found = zip(self._slots.passage_ids(slots), self._stored.read(slots), strict=True)
        return {name: content for name, content in found if content}


def _ends(folder: Path) -> Column:
    return Column(folder / ENDS, np.dtype("<u8"), 1)


def _by_row(entry: IndexEntry) -> list[bytes]:
    """What goes into each slot of an entry: that of a passage into its first one."""
    stored = entry.tokens or (b"",) * len(entry.passages)
    return [part for content, rows in zip(stored, entry.rows, strict=True) for part in (content, *[b""] * (rows - 1))]
