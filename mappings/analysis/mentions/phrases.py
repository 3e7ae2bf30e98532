"""Phrases of a lexicon in a sentence, by the longest common suffix of Syeda-Mahmood et al. 2020 (RADIOLOGY, R1).

A word of a phrase partially matches a word of the sentence if they share a prefix c with |c| / max(|p|, |t|) > `TAU`,
so that inflected forms match. A phrase is found if `ENOUGH` of its words match, in any order, near one another and in
one part of the sentence. Short words match only themselves and their plural, since "line" shares .67 with "linear".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

TAU: Final = 0.65
ENOUGH: Final = 0.75
"""The share of its words that a phrase of four or more needs; a shorter one needs all of them."""
GAP: Final = 2
"""How many words can be between two of a phrase; words in `FUNCTION` do not count."""
FUNCTION: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "have",
        "at",
        "to",
        "on",
        "its",
        "this",
        "that",
        "there",
        "again",
        "noted",
        "seen",
        "not",
    ]
)
_WHOLE: Final = 3
_SHORT: Final = 4
_PARTS: Final = frozenset(["and", "or", "nor", "with", "without", "no", "but", "from", "which", "versus", "vs", "than"])
_TOKEN: Final = re.compile(r"[^\W_]+|[.,;:()\n]")
_KEPT: Final = 20_000


class Word(NamedTuple):
    """A lowercase word of a sentence at the characters `start:end`; its part, and its position without function words."""

    text: str
    start: int
    end: int
    part: int
    place: int


class Match(NamedTuple):
    """A phrase that was found: its number, the words of the sentence that match it, and how well.

    `gap` is the number of other words among them, `quality` the mean share of the phrase's letters that match.
    """

    phrase: int
    words: tuple[int, ...]
    gap: int
    quality: float


def split(text: str) -> list[Word]:
    """The words of `text` in order. A part ends at a full stop, comma or bracket, and at "and", "or", "with", "no"."""
    found: list[Word] = []
    part = place = 0
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        part += not word[0].isalnum() or word in _PARTS
        if word[0].isalnum():
            place += word not in FUNCTION
            found.append(Word(word, *match.span(), part, place))
    return found


def likeness(word: str, other: str) -> float:
    """The share |common prefix| / max(|word|, |other|) of two words; 0 unless it is over `TAU`."""
    shared = next(
        (at for at, (left, right) in enumerate(zip(word, other, strict=False)) if left != right),
        min(len(word), len(other)),
    )
    share = shared / max(len(word), len(other), 1)
    if min(len(word), len(other)) <= _SHORT and share < 1:
        one, many = sorted((word, other), key=len)
        return share if many in (f"{one}s", f"{one}es") or many == f"{one[:-1]}ies" else 0.0
    return share if share > TAU else 0.0


_Places = dict[str, list[tuple[int, float]]]
"""Word of the lexicon -> the places in the sentence of words like it, with their likeness."""


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    needed: int


class Phrases:
    """An index of phrases by the first letters of their words. Raises `ValueError` for a phrase without words."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = [_phrase(text) for text in phrases]
        self._vocabulary: dict[str, list[str]] = defaultdict(list)
        for word in sorted({word for phrase in self._phrases for word in phrase.words}):
            self._vocabulary[word[:_SHORT]].append(word)
        self._anchors = self._anchored()
        self._alike = lru_cache(_KEPT)(self._like)

    def _anchored(self) -> dict[str, list[int]]:
        """Word -> the phrases of which it is an anchor. A phrase is only found by one of its anchors, its rarest words."""
        often: dict[str, int] = defaultdict(int)
        for phrase in self._phrases:
            for word in phrase.words:
                often[word] += 1
        anchors: dict[str, list[int]] = defaultdict(list)
        for number, phrase in enumerate(self._phrases):
            rare = sorted(phrase.words, key=lambda word: (often[word], word))
            for word in rare[: len(rare) - phrase.needed + 1]:
                anchors[word].append(number)
        return anchors

    def _like(self, word: str) -> tuple[tuple[str, float], ...]:
        found = ((other, likeness(other, word)) for other in self._vocabulary.get(word[:_SHORT], ()))
        plural = ((other, likeness(other, word)) for other in self._vocabulary.get(word[: _SHORT - 1], ()))
        return tuple((other, share) for other, share in (*found, *plural) if share)

    def find(self, words: Sequence[Word]) -> list[Match]:
        """All phrases in `words`, best first: of more words, closer together, of higher quality, earlier.

        Without those inside a better one, and those that skip words and share one with a better one: "acute airspace
        disease" is not "acute disease".
        """
        places: _Places = defaultdict(list)
        for at, word in enumerate(words):
            for other, share in self._alike(word.text):
                places[other].append((at, share))
        found = {match for word in places for match in self._around(word, words, places)}
        return _longest(found, self._phrases)

    def _around(self, anchor: str, words: Sequence[Word], places: _Places) -> Iterator[Match]:
        for number in self._anchors.get(anchor, ()):
            for at, share in places[anchor]:
                match = self._match(number, (anchor, at, share), words, places)
                if match:
                    yield match

    def _match(
        self, number: int, first: tuple[str, int, float], words: Sequence[Word], places: _Places
    ) -> Match | None:
        """The phrase around one of its words: each of the others at its nearest place in the same part."""
        phrase, (anchor, at, share) = self._phrases[number], first
        chosen = {at: share}
        for word in phrase.words:
            near = [
                item
                for item in (places.get(word, ()) if word != anchor else ())
                if item[0] not in chosen and words[item[0]].part == words[at].part
            ]
            if near:
                chosen.update([min(near, key=lambda item: (abs(item[0] - at), -item[1], item[0]))])
        order = sorted(chosen)
        steps = [words[after].place - words[before].place for before, after in pairwise(order)]
        if len(order) < phrase.needed or max(steps, default=0) > GAP + 1:
            return None
        return Match(number, tuple(order), max(0, sum(steps) - len(steps)), sum(chosen.values()) / len(phrase.words))


def _phrase(text: str) -> _Phrase:
    words = tuple(word.text for word in split(text) if word.text not in FUNCTION)
    if not words:
        raise ValueError(f"the phrase {text!r} has only function words")
    return _Phrase(words, len(words) if len(words) <= _WHOLE else ceil(ENOUGH * len(words)))


def _longest(found: Iterable[Match], phrases: Sequence[_Phrase]) -> list[Match]:
    ordered = sorted(
        found,
        key=lambda match: (
            -len(match.words),
            match.gap,
            -match.quality,
            match.words,
            len(phrases[match.phrase].words),
            match.phrase,
        ),
    )
    kept: list[Match] = []
    for match in ordered:
        shared = [other for other in kept if not set(match.words).isdisjoint(other.words)]
        if not any(match.gap or set(match.words) <= set(other.words) for other in shared):
            kept.append(match)
    return kept
