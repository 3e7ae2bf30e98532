"""What a matching network reads: words as rows of a table of vectors, padded, with masks and the signals that models use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from encoders.words.vectors import WordVectors, hash_ngram, split_words
from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput

LENGTH: Final = 4.0
"""Every word's vector is made so long: about the length per value of the vectors that the papers read (GloVe)."""
TRIGRAMS: Final = 5_000
"""Letter trigrams are hashed to so many numbers, from 1; 0 is padding."""
MOST_TRIGRAMS: Final = 16
"""Of a longer word only the first ones count."""
SENTENCE_WORDS: Final = 32
"""A longer sentence is read in parts."""
MOST_REMEMBERED: Final = 50_000
"""Texts are remembered as rows, up to so many."""


@dataclass(frozen=True, slots=True)
class MatchBatch:
    """Pairs of a query and a passage: b pairs, q and p words, d values of a vector. Padding has the value 0 or False.

    `query` (b, q, d), `passage` (b, p, d): vectors. `query_mask` (b, q), `passage_mask` (b, p): where words are.
    `exact` (b, q, p): whether two words are the same. `idf` (b, q) of the query's words. `query_trigrams` (b, q, t),
    `passage_trigrams` (b, p, t): hashed letter trigrams of each word. `sentences` (b, s, w): the place in the passage of
    each word of each sentence, from 1. `query_number`, `passage_number` (b,): the number of each distinct text, from 0 in
    the order in which they first occur.
    """

    query: Tensor
    passage: Tensor
    query_mask: Tensor
    passage_mask: Tensor
    exact: Tensor
    idf: Tensor
    query_trigrams: Tensor
    passage_trigrams: Tensor
    sentences: Tensor
    query_number: Tensor
    passage_number: Tensor

    def to(self, device: Any) -> MatchBatch:
        """The same on another device."""
        return MatchBatch(*(getattr(self, name).to(device) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as rows of the table, and the length of each of its sentences, which add up to it."""

    rows: np.ndarray
    sentences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of `passages` passages each word occurs."""

    passages: int
    words: Mapping[str, int]

    @classmethod
    def count(cls, texts: Iterable[str]) -> Frequencies:
        """Those of distinct texts."""
        found = [set(split_words(text)) for text in dict.fromkeys(texts)]
        return cls(len(found), Counter(word for words in found for word in words))

    def idf(self, word: str) -> float:
        """log((N + 1) / (n + 1)): the highest for a word that is in none."""
        return log((self.passages + 1) / (self.words.get(word, 0) + 1))


class WordTable:
    """A row for each word that has been met: its vector, idf and trigrams. Row 0 is padding."""

    def __init__(self, vectors: WordVectors, frequencies: Frequencies, max_query: int, max_passage: int) -> None:
        self.vectors, self.frequencies = vectors, frequencies
        self.most = {"query": max_query, "passage": max_passage}
        self._rows = {"": 0}
        self._values = np.zeros((1024, vectors.dimension), np.float32)
        self._idf = np.zeros(1024, np.float32)
        self._trigrams = np.zeros((1024, MOST_TRIGRAMS), np.int64)
        self._texts: dict[tuple[str, str], EncodedText] = {}

    def batch(self, queries: Sequence[str], passages: Sequence[str]) -> MatchBatch:
        """The pairs of each query with the passage at its place. Raises `InvalidInput` for a text without a word."""
        left = [self.encode(text, "query") for text in queries]
        right = [self.encode(text, "passage") for text in passages]
        query, passage = _pad([item.rows for item in left]), _pad([item.rows for item in right])
        same = (query[:, :, None] == passage[:, None, :]) & (query[:, :, None] > 0)
        arrays = (
            self._values[query],
            self._values[passage],
            query > 0,
            passage > 0,
            same,
            self._idf[query],
            self._trigrams[query],
            self._trigrams[passage],
            _place_sentences([item.sentences for item in right]),
            _number(queries),
            _number(passages),
        )
        return MatchBatch(*map(torch.from_numpy, arrays))

    def encode(self, text: str, side: str) -> EncodedText:
        """The rows of a text's first words; `side` is "query" or "passage". Raises `InvalidInput` for none."""
        found = self._texts.get((side, text))
        if found is None:
            found = self._encode(text, side)
            if len(self._texts) < MOST_REMEMBERED:
                self._texts[side, text] = found
        return found

    def _encode(self, text: str, side: str) -> EncodedText:
        room, rows, lengths = self.most[side], list[int](), list[int]()
        for part in sentences(text):
            words = split_words(text[part.start : part.end])[: room - len(rows)]
            rows += [self._row(word) for word in words]
            lengths += [len(words[at : at + SENTENCE_WORDS]) for at in range(0, len(words), SENTENCE_WORDS)]
        if not rows:
            raise InvalidInput(f"the {side} {text!r} has no word: a matching network can't score it", field=side)
        return EncodedText(np.asarray(rows, np.int64), tuple(lengths))

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
            if row == len(self._values):
                self._grow()
            vector = self.vectors.lookup([word])[0]
            self._values[row] = vector * (LENGTH / (float(np.linalg.norm(vector)) or 1.0))
            self._idf[row] = self.frequencies.idf(word)
            hashed = hash_trigrams(word)
            self._trigrams[row, : len(hashed)] = hashed
        return row

    def _grow(self) -> None:
        for name in ("_values", "_idf", "_trigrams"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))


def hash_trigrams(word: str) -> list[int]:
    """The letter trigrams of `#word#`, hashed to 1 … TRIGRAMS."""
    marked = f"#{word}#"
    parts = [marked[at : at + 3] for at in range(max(1, len(marked) - 2))][:MOST_TRIGRAMS]
    return [1 + hash_ngram(part.encode()) % TRIGRAMS for part in parts]


def _number(texts: Sequence[str]) -> np.ndarray:
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def _pad(rows: Sequence[np.ndarray]) -> np.ndarray:
    found = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return found


def _place_sentences(lengths: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Shape (b, s, w): the places, from 1, of each sentence's words; 0 is padding."""
    found = np.zeros((len(lengths), max(map(len, lengths)), max(map(max, lengths))), np.int64)
    for at, own in enumerate(lengths):
        start = 1
        for number, length in enumerate(own):
            found[at, number, :length] = np.arange(start, start + length)
            start += length
    return found
