"""Lexical scores of every text of a small corpus, for measures that need complete rankings.

`bm25` has the engines' analysis and constants; tests compare it with the embedded engine's own ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.measures import Values
from mappings.analysis.words import terms

Scorer = Callable[[str], Values]
"""Query → a score for each text, shape (n,)."""

K1: Final = 1.2
B: Final = 0.75


class _Postings:
    """Term → (numbers of the texts that contain it, how often each does)."""

    def __init__(self, texts: Sequence[str]) -> None:
        found: dict[str, list[tuple[int, int]]] = {}
        self.lengths = np.zeros(len(texts))
        for number, text in enumerate(texts):
            counts = Counter(terms(text))
            self.lengths[number] = counts.total()
            for term, count in counts.items():
                found.setdefault(term, []).append((number, count))
        self._found = {term: np.array(rows).T for term, rows in found.items()}

    def of(self, term: str) -> tuple[NDArray[np.int64], Values]:
        """(rows, counts) of a term; empty for one that no text has."""
        rows = self._found.get(term)
        return (np.zeros(0, np.int64), np.zeros(0)) if rows is None else (rows[0], rows[1].astype(np.float64))

    @property
    def terms(self) -> list[str]:
        return list(self._found)


def bm25(texts: Sequence[str]) -> Scorer:
    """BM25 as Lucene computes it: idf = ln(1 + (n - df + .5) / (df + .5)), k1 = 1.2, b = .75."""
    postings = _Postings(texts)
    size = len(texts)
    norm = K1 * (1 - B + B * postings.lengths / max(postings.lengths.mean(), 1e-9)) if size else np.zeros(0)

    def score(query: str) -> Values:
        total = np.zeros(size)
        for term in terms(query):
            rows, counts = postings.of(term)
            idf = log(1 + (size - len(rows) + 0.5) / (len(rows) + 0.5))
            total[rows] += idf * counts / (counts + norm[rows])
        return total

    return score


def tfidf(texts: Sequence[str]) -> Scorer:
    """Cosine of vectors with weights (1 + ln tf) ln(n / df)."""
    postings = _Postings(texts)
    size = len(texts)
    squares = np.zeros(size)
    for term in postings.terms:
        rows, counts = postings.of(term)
        squares[rows] += ((1 + np.log(counts)) * log(size / len(rows))) ** 2
    lengths = np.sqrt(squares) + 1e-12

    def score(query: str) -> Values:
        total, square = np.zeros(size), 0.0
        for term, often in Counter(terms(query)).items():
            rows, counts = postings.of(term)
            if len(rows):
                idf = log(size / len(rows))
                weight = (1 + log(often)) * idf
                total[rows] += weight * (1 + np.log(counts)) * idf
                square += weight**2
        return np.asarray(total / lengths / (np.sqrt(square) + 1e-12), dtype=np.float64)

    return score
