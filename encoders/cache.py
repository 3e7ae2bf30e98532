"""A disk cache of passage vectors by (encoder, text), so that unchanged passages are not encoded again.

One SQLite file per encoder, in WAL mode: several processes can read and write it, and `kill -9` loses at most what was
not yet committed. It is only a cache: a damaged row is encoded again, a damaged file is replaced, and a full or
read-only disk costs only speed. Vectors stay float32, so that results are the same with and without the cache.

The files of a folder keep within one bound: before vectors are written, the oldest of the largest file go. One process
writes at a time, so that no two fill the same room.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from encoders.pooling import Floats
from mappings.analysis.window_text import alone
from mappings.errors import Unavailable

_log = logging.getLogger(__name__)

AT_ONCE = 256
"""Texts encoded per commit, and keys per SQL query: a kill loses at most this much work."""
_CHECK = 4
_FORM: Final = 1
_TABLE: Final = "CREATE TABLE vectors (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
# `number` orders vectors by age. In the first form they were in the order of their keys, which took twice the room.
_FROM_FIRST_FORM: Final = (
    "ALTER TABLE vectors RENAME TO earlier",
    _TABLE,
    "INSERT INTO vectors (key, vector) SELECT key, vector FROM earlier",
    "DROP TABLE earlier",
)
_ROW: Final = 128
"""More bytes than a row takes beside its vector."""
_EMPTY: Final = 16_384  # bytes of a file without vectors
_NO_BOUND: Final = 2**62
_DROPPED: Final = 8_192
"""Most vectors dropped at once: a bound that was lowered a lot is reached step by step, and nobody waits for long."""


class Encodes(Protocol):
    """What the cache needs of an encoder: the same methods as `search.protocols.Encoder`."""

    @property
    def fingerprint(self) -> str: ...  # noqa: D102
    @property
    def dimension(self) -> int: ...  # noqa: D102
    def encode_queries(self, texts: Sequence[str]) -> Floats: ...  # noqa: D102
    def encode_passages(self, texts: Sequence[str]) -> Floats: ...  # noqa: D102


class CachedEncoder:
    """An encoder with a cache of passage vectors; implements `search.protocols.Encoder`. Threads can share it.

    Queries are not cached here: they rarely repeat, and the search path has its own cache of query vectors.
    """

    def __init__(self, encoder: Encodes, folder: Path, bound: int = 0) -> None:
        """`bound`: most bytes that all caches in `folder` take together; 0: any number."""
        self._encoder = encoder
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension
        # Two numeric forms of one model agree in ranking but not bit for bit, so each has its own vectors.
        self.form = str(getattr(encoder, "form", ""))
        self.reads_around = bool(getattr(encoder, "reads_around", False))
        self.reads_surroundings = bool(getattr(encoder, "reads_surroundings", False))
        path = folder / f"{self.fingerprint[:16]}-{self.form or 'only'}.sqlite"
        self._store = VectorStore(path, self.dimension, bound)

    @property
    def tokens_run(self) -> int:
        """How many tokens the wrapped encoder has read so far; 0 if it does not count them."""
        return int(getattr(self._encoder, "tokens_run", 0))

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encoder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order; a repeated text is encoded once."""
        if not self.reads_around:
            texts = [*map(alone, texts)]  # whatever is around a window, its vector is the same
        keys = [text_key(text) for text in texts]
        unique = dict(zip(keys, texts, strict=True))
        vectors = self._store.get(list(unique))
        missing = [key for key in unique if key not in vectors]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            fresh = self._encoder.encode_passages([unique[key] for key in part])
            found = dict(zip(part, fresh, strict=True))
            self._store.put(found)
            vectors.update(found)
        return np.stack([vectors[key] for key in keys]) if keys else np.zeros((0, self.dimension), dtype=np.float32)


class VectorStore:
    """Vectors of one dimension by 32-byte key, on disk. Disk errors are logged, never raised.

    With the other files of its folder it takes `bound` bytes at most, write-ahead logs aside; 0: any number.
    """

    def __init__(self, path: Path, dimension: int, bound: int = 0) -> None:
        self._path = path
        self._bytes = dimension * 4 + _CHECK
        self._bound = bound
        self._warned = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors stored under `keys`, without damaged ones."""
        found: dict[bytes, Floats] = {}
        with self._guarded(self._path):
            for key, row in self._rows(keys):
                if self._is_intact(row):
                    found[key] = np.frombuffer(row, dtype="<f4", offset=_CHECK).astype(np.float32)
        return found

    def _rows(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        if self._path.exists():
            with _open(self._path) as connection:
                for start in range(0, len(keys), AT_ONCE):
                    part = keys[start : start + AT_ONCE]
                    marks = ",".join("?" * len(part))
                    yield from connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Store vectors in one transaction; an existing key is replaced, which also repairs damaged rows.

        Those that the bound has no room for are not stored.
        """
        rows = [(key, _packed(vector)) for key, vector in vectors.items()]
        needed = len(rows) * 2 * (self._bytes + _ROW)  # a page is half full at least
        with self._guarded(self._path), _alone(self._path.parent):
            room = self._room(needed)
            if not self._path.exists() and room < needed + _EMPTY:
                return
            with _open(self._path, alone=True) as connection, connection:
                _drop_oldest(connection, room - needed)
                if _size(connection) > room:
                    _give_back(connection, room)
                if _used(connection) + needed <= room:
                    connection.executemany("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows)

    def _room(self, needed: int) -> int:
        """How many bytes this file can take, after the largest gave way to `needed` more, if it is another one."""
        if self._bound == 0:
            return _NO_BOUND
        sizes = {path: path.stat().st_size for path in self._path.parent.glob("*.sqlite")}
        own = sizes.pop(self._path, _EMPTY)
        excess = own + sum(sizes.values()) + needed - self._bound
        largest = max(sizes, default=self._path, key=lambda path: sizes[path])
        if excess > 0 and sizes.get(largest, 0) > own:
            with self._guarded(largest), _open(largest, alone=True) as other:
                size = _size(other) - excess
                _drop_oldest(other, size)
                _give_back(other, size)
            sizes[largest] = largest.stat().st_size if largest.exists() else 0
        return self._bound - sum(sizes.values())

    def _is_intact(self, row: object) -> bool:
        if not isinstance(row, bytes) or len(row) != self._bytes:
            return False
        return zlib.crc32(row[_CHECK:]) == int.from_bytes(row[:_CHECK], "little")

    @contextlib.contextmanager
    def _guarded(self, path: Path) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, read-only: keep the file
            self._warn(path, f"can't be used: {error}")
        except sqlite3.DatabaseError as error:  # not a database, or a malformed one
            self._warn(path, f"was damaged and is replaced: {error}")
            with contextlib.suppress(OSError):
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            self._warn(path, f"can't be used: {error}")

    def _warn(self, path: Path, message: str) -> None:
        if not self._warned:
            _log.warning("the vector cache %s %s", path, message)
        self._warned = True


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one thread of one process writes to the caches of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _open(path: Path, alone: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection for one call: cheap compared with encoding, and safe across threads and forks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=30)
    try:
        if _pragma(connection, "user_version") < _FORM:
            with contextlib.nullcontext() if alone else _alone(path.parent):
                _make_table(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        yield connection
    finally:
        connection.close()


def _make_table(connection: sqlite3.Connection) -> None:
    """Create the table, or bring that of the first form to ours; does nothing where another process was first."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before anything is written
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _pragma(connection, "user_version") >= _FORM:
            return
        is_first_form = bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'").fetchall())
        for statement in _FROM_FIRST_FORM if is_first_form else (_TABLE,):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_FORM}")
    if is_first_form:
        connection.execute("VACUUM")


def _drop_oldest(connection: sqlite3.Connection, size: int) -> None:
    """Drop the oldest vectors until `size` bytes are in use, if that takes no more than are dropped at once."""
    row = connection.execute("SELECT LENGTH(vector) FROM vectors LIMIT 1").fetchone()
    left = _DROPPED
    while row and left and (excess := _used(connection) - size) > 0:
        count = min(left, excess // (row[0] + _ROW) + 1)
        oldest = "SELECT number FROM vectors ORDER BY number LIMIT ?"
        if not connection.execute(f"DELETE FROM vectors WHERE number IN ({oldest})", (count,)).rowcount:
            return
        left -= count


def _give_back(connection: sqlite3.Connection, size: int) -> None:
    """Commit, and cut free pages from the end of a file until it takes `size` bytes, if it has so many."""
    connection.commit()
    pages = (_size(connection) - size) // _pragma(connection, "page_size") + 1
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")  # `execute` frees one page only
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _used(connection: sqlite3.Connection) -> int:
    """The bytes of a file without its free pages, which are written first."""
    pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    return pages * _pragma(connection, "page_size")


def _size(connection: sqlite3.Connection) -> int:
    return _pragma(connection, "page_count") * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def cached_bytes(folder: Path) -> int:
    """How many bytes the caches in `folder` take, write-ahead logs aside."""
    return sum(path.stat().st_size for path in folder.glob("*.sqlite"))


def clear(folder: Path) -> None:
    """Remove every vector from the caches in `folder`, and what removed ones leave in the files.

    A vector and the hash of a text say something about a text that must be forgotten. Raises `Unavailable`.
    """
    for path in sorted(folder.glob("*.sqlite")):
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
                for statement in ("PRAGMA secure_delete = ON", "DELETE FROM vectors", "VACUUM"):
                    connection.execute(statement)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise Unavailable(f"the vector cache {path} can't be cleared: {error}; remove the file") from error


def text_key(text: str) -> bytes:
    """A 32-byte key for a text; lone surrogates are hashed as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _packed(vector: Floats) -> bytes:
    raw = np.ascontiguousarray(vector, dtype="<f4").tobytes()
    return zlib.crc32(raw).to_bytes(_CHECK, "little") + raw
