"""Cross-encoder scores kept on disk: the results are the same, and a repeated evaluation takes minutes, not hours."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from search.protocols import Reranker, Vectors


class KeptScores:
    """A reranker whose scores are kept in a SQLite file by (fingerprint, form, query, passage)."""

    def __init__(self, reranker: Reranker, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._reranker = reranker
        self.form = str(getattr(reranker, "form", ""))
        self._base = sqlite3.connect(file, timeout=60, isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
        )

    @property
    def fingerprint(self) -> str:
        """The reranker's own."""
        return self._reranker.fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order."""
        keys = [_key(self.fingerprint, self.form, query, passage) for passage in passages]
        known = self._known(keys)
        missing = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in known}
        if missing:
            scores = self._reranker.score(query, list(missing.values()))
            fresh = dict(zip(missing, map(float, scores), strict=True))
            self._base.execute("BEGIN")
            self._base.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", fresh.items())
            self._base.execute("COMMIT")
            known |= fresh
        return np.array([known[key] for key in keys], dtype=np.float32)

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        found: dict[bytes, float] = {}
        for start in range(0, len(keys), 500):  # SQLite takes at most 999 parameters where it is old
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            found.update(self._base.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", part))
        return found

    def close(self) -> None:
        """Close the file."""
        self._base.close()


def _key(fingerprint: str, form: str, query: str, passage: str) -> bytes:
    return hashlib.blake2b(
        "\x1f".join((fingerprint, form, query, passage)).encode("utf-8", "replace"), digest_size=16
    ).digest()
