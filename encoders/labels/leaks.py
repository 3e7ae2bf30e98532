"""What keeps evaluation data out of training: twins by normalised text, near-twins by shared word shingles."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

_WORD = re.compile(r"[a-z0-9]+")


def normalise(text: str) -> str:
    """Lowercase words and numbers only: two texts that print alike are equal."""
    return " ".join(_WORD.findall(text.lower()))


def shingles(text: str, size: int) -> frozenset[tuple[str, ...]]:
    """The distinct runs of `size` words; a shorter text is one shingle."""
    words = _WORD.findall(text.lower())
    return frozenset(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


class Twins:
    """Texts that training must not see, and the question whether a text is one of them or nearly so.

    A text is a near-twin when the Jaccard similarity of its shingles with those of a guarded text is at
    least `threshold`; with `contained`, when that share of the guarded text's shingles occurs in it.
    """

    def __init__(self, texts: Iterable[str], size: int, threshold: float, contained: bool = False) -> None:
        self._size, self._threshold, self._contained = size, threshold, contained
        self._counts: list[int] = []
        self._postings: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, text in enumerate(sorted(set(map(normalise, texts)))):
            parts = shingles(text, size)
            self._counts.append(len(parts))
            for part in parts:
                self._postings[part].append(number)

    def __contains__(self, text: str) -> bool:
        parts = shingles(text, self._size)
        shared = Counter(number for part in parts for number in self._postings.get(part, ()))
        return any(self._similarity(count, len(parts), number) >= self._threshold for number, count in shared.items())

    def _similarity(self, shared: int, size: int, number: int) -> float:
        other = self._counts[number]
        return shared / other if self._contained else shared / (size + other - shared)
