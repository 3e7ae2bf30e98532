"""Detection of evaluation data in training data: twins by normalised text, near-twins by shared word shingles."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil
from typing import Final

SAME_CLAIM: Final = 0.6
"""Two claims whose words overlap this much (Jaccard) state the same or its opposite: one story, so one split."""

_WORD: Final = re.compile(r"[a-z0-9]+")
_MASK: Final = re.compile(r"\[\*\*.*?\*\*\]|\[[A-Za-z_ ]+\]|<[A-Za-z_ ]+>|_{2,}|\*{2,}|\b(?:[Xx]{2,}|XYZ|ABC)\b")
"""What de-identification writes for a name or a date: [**Name**], [NAME], <DATE>, ___, ***, XXXX, XYZ, ABC."""
_NUMBER: Final = re.compile(r"\d+(?:[.,/:-]\d+)*")
_POSSESSIVE: Final = re.compile(r"['\u2019]s\b")


def normalise(text: str) -> str:
    """The text as lowercase words and numbers, so that texts that differ in case and punctuation only are equal."""
    return " ".join(_WORD.findall(text.lower()))


@lru_cache(200_000)
def name_key(name: str) -> str:
    """An entity's name without case, accents, possessives and order of words; "" if it has no letter or digit.

    "Vision defect, color" is "color vision defect", and "Alzheimer's disease" is "Alzheimer disease".
    """
    folded = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", name.lower()))
    plain = "".join(character for character in folded if not unicodedata.combining(character))
    return " ".join(sorted(_WORD.findall(plain)))


def unmask(text: str) -> str:
    """A clinical text without what stands for names, and with every number as 0: notes are masked in different ways."""
    return _NUMBER.sub("0", _MASK.sub(" ", text))


def shingles(text: str, size: int) -> frozenset[tuple[str, ...]]:
    """The distinct sequences of `size` words; a shorter text is one shingle."""
    words = _WORD.findall(text.lower())
    return frozenset(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


class Twins:
    """Texts that training must not see. `text in twins`: whether a text is one of them, or nearly so.

    A text is a near-twin when the Jaccard similarity of its shingles with those of a guarded text is at
    least `threshold`; with `contained`, when it contains that share of the guarded text's shingles; with `either`, also
    when the guarded text contains that share of its shingles, so that the same text cut elsewhere is found.
    """

    def __init__(
        self, texts: Iterable[str], size: int, threshold: float, contained: bool = False, either: bool = False
    ) -> None:
        self._size, self._threshold, self._contained, self._either = size, threshold, contained or either, either
        self._texts = sorted(set(map(normalise, texts)))
        self._parts = [shingles(text, size) for text in self._texts]
        self._postings: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, parts in enumerate(self._parts):
            for part in parts:
                self._postings[part].append(number)

    def __contains__(self, text: str) -> bool:
        return any(True for _ in self.find(text))

    def find(self, text: str) -> Iterator[str]:
        """The guarded texts, normalised, of which `text` is a near-twin."""
        parts = shingles(text, self._size)
        for number in self._candidates(parts):
            other = self._parts[number]
            shared = len(parts & other)
            whole = len(other) if self._contained else len(parts | other)
            whole = min(len(parts), whole) if self._either else whole
            if shared / whole >= self._threshold:
                yield self._texts[number]

    def _candidates(self, parts: frozenset[tuple[str, ...]]) -> set[int]:
        """All that can be near: a near-twin shares `threshold` of the parts, so at least one of the rarest of them."""
        ranked = sorted(parts, key=lambda part: len(self._postings.get(part, ())))
        rarest = len(parts) if self._contained else len(parts) - ceil(self._threshold * len(parts)) + 1
        return {number for part in ranked[:rarest] for number in self._postings.get(part, ())}
