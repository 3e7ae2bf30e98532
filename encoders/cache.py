"""Passage vectors on disk by (encoder fingerprint, text): a rebuild or an evaluation encodes nothing twice."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
T = TypeVar("T")

_CHUNK: Final = 500
_BUSY_SECONDS: Final = 30.0


class _Encoder(Protocol):
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    def encode_queries(self, texts: Sequence[str]) -> Vectors: ...
    def encode_passages(self, texts: Sequence[str]) -> Vectors: ...


class CachedEncoder:
    """An encoder whose passage vectors are kept in `<folder>/<fingerprint>.sqlite`; the same vectors, sooner.

    Any number of processes may share the folder. A cache that can't be used (damaged, read-only, a full disk)
    costs time, never an answer: a damaged file is put aside and begun anew.
    """

    def __init__(self, encoder: _Encoder, folder: Path) -> None:
        self._encoder = encoder
        self._path = folder / f"{encoder.fingerprint[:32]}.sqlite"
        self._local = threading.local()

    @property
    def fingerprint(self) -> str:
        """The encoder's own: the cache changes nothing."""
        return self._encoder.fingerprint

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._encoder.dimension

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order; never kept on disk, queries are people's own."""
        return self._encoder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self._encoder.encode_passages(list(missing.values()))
            fresh = dict(zip(missing, made, strict=True))
            self._write(fresh)
            known |= fresh
        return np.stack([known[key] for key in keys]) if keys else np.empty((0, self.dimension), np.float32)

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            statement = f"SELECT key, vector FROM vectors WHERE key IN ({','.join('?' * len(chunk))})"
            rows = self._tried(lambda database: database.execute(statement, chunk).fetchall()) or []  # noqa: B023
            found.update(
                (key, np.frombuffer(blob, np.float32)) for key, blob in rows if len(blob) == 4 * self.dimension
            )
        return found

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        rows = [(key, np.ascontiguousarray(vector, np.float32).tobytes()) for key, vector in vectors.items()]

        def insert(database: sqlite3.Connection) -> None:
            with database:
                database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

        self._tried(insert)

    def _tried(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `action` gives on this thread's connection, or None when the cache can't be used: vectors can be made again."""
        try:
            return action(self._connection())
        except sqlite3.OperationalError:  # locked, full, read-only: it may pass
            self._forget()
        except sqlite3.DatabaseError:  # the file is no database
            self._forget()
            with contextlib.suppress(OSError):
                self._path.rename(self._path.with_suffix(".damaged"))
        except OSError:
            self._forget()
        return None

    def _connection(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is not None and self._local.process == os.getpid():
            return known
        self._path.parent.mkdir(parents=True, exist_ok=True)
        made = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        self._local.connection, self._local.process = made, os.getpid()
        # Vectors can be made again: they need not survive a power cut, only never be half there.
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("PRAGMA synchronous=NORMAL")
        made.execute("CREATE TABLE IF NOT EXISTS vectors(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
        return made

    def _forget(self) -> None:
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if known is not None:
            with contextlib.suppress(sqlite3.Error):
                known.close()
