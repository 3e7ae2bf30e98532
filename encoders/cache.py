"""A disk cache of passage vectors by (encoder, text), so that unchanged passages are not encoded again.

One SQLite file per encoder, in WAL mode: several processes can read and write it, and `kill -9` loses at most what was
not yet committed. It is only a cache: a damaged row is encoded again, a damaged file is replaced, and a full or
read-only disk costs only speed. Vectors stay float32, so that results are the same with and without the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from encoders.pooling import Floats
from mappings.analysis.window_text import alone
from mappings.errors import Unavailable

_log = logging.getLogger(__name__)

AT_ONCE = 256
"""Texts encoded per commit, and keys per SQL query: a kill loses at most this much work."""
_CHECK = 4
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


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

    def __init__(self, encoder: Encodes, folder: Path) -> None:
        self._encoder = encoder
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension
        # Two numeric forms of one model agree in ranking but not bit for bit, so each has its own vectors.
        self.form = str(getattr(encoder, "form", ""))
        self.reads_around = bool(getattr(encoder, "reads_around", False))
        self.reads_surroundings = bool(getattr(encoder, "reads_surroundings", False))
        self._store = VectorStore(folder / f"{self.fingerprint[:16]}-{self.form or 'only'}.sqlite", self.dimension)

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
    """Vectors of one dimension by 32-byte key, on disk. Disk errors are logged, never raised."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._path = path
        self._bytes = dimension * 4 + _CHECK
        self._warned = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors stored under `keys`, without damaged ones."""
        found: dict[bytes, Floats] = {}
        with self._guarded(), self._open() as connection:
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                for key, row in connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part):
                    if self._is_intact(row):
                        found[key] = np.frombuffer(row, dtype="<f4", offset=_CHECK).astype(np.float32)
        return found

    def put(self, vectors: Mapping[bytes, Floats]) -> None:
        """Store vectors in one transaction; an existing key is replaced, which also repairs damaged rows."""
        rows = [(key, _packed(vector)) for key, vector in vectors.items()]
        with self._guarded(), self._open() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _is_intact(self, row: object) -> bool:
        if not isinstance(row, bytes) or len(row) != self._bytes:
            return False
        return zlib.crc32(row[_CHECK:]) == int.from_bytes(row[:_CHECK], "little")

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one call: cheap compared with encoding, and safe across threads and forks."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=30)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(_TABLE)
            yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, read-only: keep the file
            self._warn(f"can't be used: {error}")
        except sqlite3.DatabaseError as error:  # not a database, or a malformed one
            self._warn(f"was damaged and is replaced: {error}")
            with contextlib.suppress(OSError):
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"can't be used: {error}")

    def _warn(self, message: str) -> None:
        if not self._warned:
            _log.warning("the vector cache %s %s", self._path, message)
        self._warned = True


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
