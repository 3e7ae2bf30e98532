"""What training saw, as hashes: a set that answers whether a text was in it, without holding any text.

A hash is the first six bytes of BLAKE2b over the normalised text. Seventy thousand texts take about 300 kB; that one of
sixty thousand other texts is taken for one of them has a chance of one in 60,000.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from encoders.labels.guard import ARTICLES, MIN_TEXT_WORDS, MIN_TITLE_WORDS
from encoders.labels.leaks import name_key, normalise
from encoders.labels.pairs import Pair, Text
from mappings.errors import ModelError

HASH_BYTES: Final = 6
Hashes = npt.NDArray[np.uint64]
"""Sorted, each once."""

_MAGIC: Final = b"medley-seen-1\n"


def text_hash(text: str) -> int:
    """The hash of a query, a passage or a title."""
    return _hash(normalise(text))


def name_hash(name: str) -> int:
    """The hash of an entity's name; never that of a text."""
    return _hash(f"name\x1f{name_key(name)}")


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=HASH_BYTES).digest(), "big")


def passage_hashes(text: Text) -> set[int]:
    """The hashes of a passage, its title and its surroundings; none for those too short to be one source's own."""
    around = ((part, MIN_TEXT_WORDS) for part in (*text.before, *text.after))
    parts = ((text.text, MIN_TEXT_WORDS), (text.title, MIN_TITLE_WORDS), *around)
    return {text_hash(part) for part, least in parts if len(part.split()) >= least}


def _no_hashes() -> Hashes:
    return np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class SeenTexts:
    """A set of hashes."""

    hashes: Hashes = field(default_factory=_no_hashes)

    @classmethod
    def of(cls, hashes: Iterable[int]) -> SeenTexts:
        """The set of these hashes."""
        return cls(np.array(sorted(set(hashes)), dtype=np.uint64))

    @classmethod
    def of_pairs(cls, pairs: Iterable[Pair]) -> SeenTexts:
        """Every query, passage and title of the pairs, and the entities of articles."""
        found: set[int] = set()
        known: set[tuple[str, int]] = set()  # a passage is a negative of many pairs
        for pair in pairs:
            found.add(text_hash(pair.query))
            for text in (pair.positive, *pair.negatives):
                key = (pair.corpus, hash((text.title, text.text)))
                if key not in known:
                    known.add(key)
                    found |= passage_hashes(text)
                    if pair.corpus in ARTICLES and text.title:
                        found.add(name_hash(text.title))
        return cls.of(found)

    @classmethod
    def of_corpora(cls, corpora: Mapping[str, Sequence[Text]]) -> SeenTexts:
        """Every passage and title of corpora by name, and the entities of articles."""
        found: set[int] = set()
        for corpus, texts in corpora.items():
            for text in texts:
                found |= passage_hashes(text)
                if corpus in ARTICLES and text.title:
                    found.add(name_hash(text.title))
        return cls.of(found)

    def __len__(self) -> int:
        return len(self.hashes)

    def union(self, *others: SeenTexts) -> SeenTexts:
        """What is in any of the sets."""
        return SeenTexts(np.unique(np.concatenate([self.hashes, *(other.hashes for other in others)])))

    def count(self, hashes: Iterable[int]) -> int:
        """How many of these distinct hashes are in the set."""
        wanted = np.array(sorted(set(hashes)), dtype=np.uint64)
        return int(np.isin(wanted, self.hashes, assume_unique=True).sum())

    def to_bytes(self) -> bytes:
        """The set, compressed: differences of neighbours, their high bytes together."""
        steps = np.diff(self.hashes, prepend=np.uint64(0)).astype(">u8")
        columns = steps.view(np.uint8).reshape(-1, 8).T
        return _MAGIC + zlib.compress(columns.tobytes(), 9)

    @classmethod
    def from_bytes(cls, content: bytes, path: Path) -> SeenTexts:
        """The set that `to_bytes` wrote. Raises `ModelError`, which names `path`, for anything else."""
        try:
            if not content.startswith(_MAGIC):
                raise ValueError("it does not begin as one")
            columns = np.frombuffer(zlib.decompress(content[len(_MAGIC) :]), dtype=np.uint8).reshape(8, -1)
            steps = np.ascontiguousarray(columns.T).view(">u8").reshape(-1).astype(np.uint64)
        except (ValueError, zlib.error) as error:
            raise ModelError(f"{path} is not a set of seen texts: {error}", field=str(path)) from None
        return cls(np.cumsum(steps, dtype=np.uint64))
