"""Which texts can begin like a mistyped one: those that have something in common with it once letters are left out.

Two texts that are k edits apart are equal after at most k letters were left out of each. So the beginnings of all texts are
kept with up to k letters left out, and looked up by what is left of the typed one: a few hundred texts have to be compared
instead of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)

Letters = NDArray[np.uint16]
"""The codes of letters, shape (places, texts); 0 behind the end of a text."""


class Neighbours:
    """Finds texts by their first `size` letters, with at most `most` of them left out; shorter texts are not found."""

    def __init__(self, letters: Letters, lengths: NDArray[np.int16], size: int, most: int) -> None:
        self._size, self._most = size, most
        self._texts = np.flatnonzero(lengths >= size)
        beginnings, of_text = np.unique(letters[:size, self._texts], axis=1, return_inverse=True)
        order = np.argsort(of_text, kind="stable")
        self._texts = self._texts[order]
        self._ends = np.cumsum(np.bincount(of_text, minlength=beginnings.shape[1]))
        keys = np.concatenate(list(_keys(beginnings, most)))
        numbers = np.tile(np.arange(beginnings.shape[1], dtype=np.int32), len(keys) // max(beginnings.shape[1], 1))
        sorted_keys = np.argsort(keys, kind="stable")
        self._keys, self._numbers = keys[sorted_keys], numbers[sorted_keys]

    def of(self, codes: Sequence[int]) -> NDArray[np.int64]:
        """The numbers of all texts that can begin within `most` edits of a text, and of some others, ascending.

        The text, given by the codes of its letters, has at least `size` of them.
        """
        own = np.unique(np.concatenate(list(_keys(np.asarray(codes[: self._size], np.uint16)[:, None], self._most))))
        first, last = np.searchsorted(self._keys, own), np.searchsorted(self._keys, own, side="right")
        found = np.unique(np.concatenate([self._numbers[low:high] for low, high in zip(first, last, strict=True)]))
        ends = self._ends[found].tolist()
        starts = np.where(found > 0, self._ends[found - 1], 0).tolist()
        texts = [self._texts[low:high] for low, high in zip(starts, ends, strict=True)]
        return np.sort(np.concatenate(texts)) if texts else self._texts[:0]


def _keys(beginnings: Letters, most: int) -> Iterator[NDArray[np.uint64]]:
    """A hash of what is left of each beginning, for each choice of at most `most` letters that are left out."""
    size = len(beginnings)
    for left_out in range(most + 1):
        for kept in combinations(range(size), size - left_out):
            key = np.zeros(beginnings.shape[1], np.uint64)
            for place in kept:
                key = (key ^ beginnings[place]) * _FACTOR
            yield key
