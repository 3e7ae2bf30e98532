"""A deterministic encoder without a model: feature hashing (Weinberger et al. 2009) of words, bigrams and trigrams.

The settings can name it as `hashing-256`: it needs no file, takes microseconds, and matches spellings and inflections,
not meanings.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from encoders.pooling import Floats, unit
from mappings.analysis.window_text import alone
from mappings.documents import clean
from mappings.errors import ModelError

_WORD = re.compile(r"\w+")
_VERSION = "hashing 1"


class HashingEncoder:
    """Implements `search.protocols.Encoder`; treats queries and passages alike."""

    def __init__(self, dimension: int = 256) -> None:
        if not 8 <= dimension <= 65_536:
            raise ModelError(f"a hashing encoder has 8 to 65,536 dimensions, not {dimension}", field="model")
        self.dimension = dimension
        self.fingerprint = hashlib.sha256(f"{_VERSION} {dimension}".encode()).hexdigest()

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts)

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode([*map(alone, texts)])

    def _encode(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, count in Counter(features(text)).items():
                hashed = _hash(feature)
                sign = 1.0 if hashed & 1 else -1.0
                # The logarithm keeps a word that occurs fifty times from dominating the vector.
                row[(hashed >> 1) % self.dimension] += sign * (1.0 + math.log(count))
        return unit(vectors)


def features(text: str) -> Iterator[str]:
    """Words, word bigrams, and the character trigrams of each word with its boundaries marked."""
    words = _WORD.findall(clean(text).lower())
    yield from words
    yield from (f"{left} {right}" for left, right in pairwise(words))
    for word in words:
        marked = f"<{word}>"
        yield from (f"#{marked[i : i + 3]}" for i in range(len(marked) - 2))


@lru_cache(maxsize=100_000)
def _hash(feature: str) -> int:
    """A 64-bit hash that is the same in every process; Python's own string hash is salted."""
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
