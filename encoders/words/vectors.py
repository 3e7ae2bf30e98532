"""Vectors of words with subwords (fastText, Bojanowski et al. 2017), in one file of NumPy arrays.

A word of the vocabulary has the mean of its own vector and those of its character n-grams; another word has the mean of
its n-grams' vectors (their equation 2, divided by the number of parts as in the reference program).
"""

from __future__ import annotations

import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mappings.errors import ModelError

_WORD: Final = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_NAMES: Final = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
_GREEK: Final = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _NAMES.split(), strict=True))
_VARIANTS: Final = {"ς": "sigma", "ϕ": "phi", "ϵ": "epsilon", "µ": "u", "’": "'", "‐": "-", "‑": "-"}
_SPELT: Final = str.maketrans(_GREEK | _VARIANTS)
"""Greek letters by name, the sign for micro as "u", and one form of each apostrophe and hyphen."""
_OFFSET, _PRIME, _MASK = 2166136261, 16777619, 0xFFFFFFFF  # of the hash FNV-1a
MOST_REMEMBERED: Final = 200_000
"""Vectors of words outside the vocabulary are remembered, up to so many words."""
MOST_CHARACTERS: Final = 64
"""Of a longer word outside the vocabulary only the beginning counts: a sequence of a gene is no word."""


def split_words(text: str) -> list[str]:
    """The words of a text, in lowercase and without accents: letters and digits, also joined by hyphens or apostrophes.

    Greek letters are spelt: "α-thalassemia" is "alpha-thalassemia", another entity than "β-thalassemia".
    """
    return _WORD.findall(_plain(text))


def has_word(text: str) -> bool:
    """Whether a text has a word as `split_words` finds them."""
    return _WORD.search(_plain(text)) is not None


def _plain(text: str) -> str:
    """In lowercase; "Sjögren" and "Sjogren" are one name."""
    if text.isascii():
        return text.lower()
    bare = "".join(sign for sign in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(sign))
    return bare.translate(_SPELT)


class WordVectors:
    """The vectors of words, all of one dimension. `fingerprint` identifies them, 16 hexadecimal digits."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[np.float16],
        ngrams: NDArray[np.float16],
        lengths: tuple[int, int] = (3, 6),
    ) -> None:
        """`vectors` has the shape (words, dimension), `ngrams` (buckets, dimension); `lengths` are an n-gram's, in letters.

        Raises `ModelError` if the shapes don't agree, or for values that are no numbers.
        """
        if vectors.ndim != 2 or ngrams.ndim != 2 or len(words) != len(vectors) or vectors.shape[1] != ngrams.shape[1]:
            message = f"{len(words)} words have vectors of the shape {vectors.shape}, their n-grams {ngrams.shape}"
            raise ModelError(message, field="vectors")
        if not (np.isfinite(vectors).all() and np.isfinite(ngrams).all()):
            raise ModelError("some vectors of words are NaN or infinite", field="vectors")
        self.words = list(words)
        self.lengths = lengths
        self._places = {word: place for place, word in enumerate(self.words)}
        self._vectors = np.asarray(vectors, np.float16)
        self._ngrams = np.asarray(ngrams, np.float16)
        self._others: dict[str, NDArray[np.float32]] = {}

    @property
    def dimension(self) -> int:
        """The number of values of a vector."""
        return int(self._vectors.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of words and vectors."""
        found = sha256("\n".join(self.words).encode())
        for part in (self._vectors, self._ngrams, np.asarray(self.lengths, np.int64)):
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()[:16]

    def lookup(self, words: Iterable[str]) -> NDArray[np.float32]:
        """The vector of each word, shape (words, dimension); of a word without an n-gram zeros."""
        found = [self._vector(word) for word in words]
        return np.stack(found).astype(np.float32) if found else np.zeros((0, self.dimension), np.float32)

    def mean(self, texts: Sequence[str], most_words: int) -> NDArray[np.float32]:
        """The mean of the vectors of each text's first `most_words` words, shape (texts, dimension); zeros without a word."""
        found = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            if words := split_words(text)[:most_words]:
                found[row] = self.lookup(words).mean(0)
        return found

    def save(self, path: Path) -> None:
        """Write the file as a whole or not at all."""
        partial = path.with_suffix(".partial.npz")
        np.savez(
            partial,
            words=np.frombuffer("\n".join(self.words).encode(), np.uint8),
            vectors=self._vectors,
            ngrams=self._ngrams,
            lengths=np.asarray(self.lengths, np.int64),
        )
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> WordVectors:
        """Raises `ModelError` for a missing or damaged file."""
        try:
            with path.open("rb") as file, zipfile.ZipFile(file), np.load(file, allow_pickle=False) as found:
                words = found["words"].tobytes().decode()
                least, most = map(int, found["lengths"])
                return cls(words.split("\n") if words else [], found["vectors"], found["ngrams"], (least, most))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise ModelError(f"{path} can't be read as vectors of words: {error}", field="words") from None

    def _vector(self, word: str) -> NDArray[np.float16] | NDArray[np.float32]:
        place = self._places.get(word)
        if place is not None:
            known: NDArray[np.float16] = self._vectors[place]
            return known
        found = self._others.get(word)
        if found is None:
            found = self._compose(word)
            if len(self._others) < MOST_REMEMBERED:
                self._others[word] = found
        return found

    def _compose(self, word: str) -> NDArray[np.float32]:
        """The vector of a word outside the vocabulary, by its n-grams."""
        if not len(self._ngrams):
            return np.zeros(self.dimension, np.float32)
        places = [hash_ngram(part) % len(self._ngrams) for part in ngrams_of(word[:MOST_CHARACTERS], *self.lengths)]
        if not places:
            return np.zeros(self.dimension, np.float32)
        mean: NDArray[np.float32] = self._ngrams[places].astype(np.float32).mean(0)
        return mean


def ngrams_of(word: str, least: int, most: int) -> list[bytes]:
    """The n-grams of `<word>` of `least` to `most` characters, in UTF-8; a bracket alone is none."""
    marked = f"<{word}>"
    return [
        marked[start : start + size].encode()
        for start in range(len(marked))
        for size in range(least, most + 1)
        if start + size <= len(marked) and not (size == 1 and start in (0, len(marked) - 1))
    ]


def hash_ngram(ngram: bytes) -> int:
    """FNV-1a in 32 bits, with bytes as signed numbers as in the reference program."""
    found = _OFFSET
    for byte in ngram:
        found = ((found ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * _PRIME) & _MASK
    return found
