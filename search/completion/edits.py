"""The distances of one typed text from many names at once, by edits: a typing mistake must not hide what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from search.completion.neighbours import Neighbours

WIDTH: Final = 64
"""Most letters of a text that are compared; a longer one has no distance."""

ONE_EDIT_LETTERS: Final = 4
TWO_EDITS_LETTERS: Final = 8
_FAR: Final = 100
"""More than any distance that counts, and far from what a byte can hold."""

_UNKNOWN: Final = int(np.iinfo(np.uint16).max)
"""The code of a letter that no text has."""

_Cells = NDArray[np.uint8]


def allowed_edits(text: str) -> int:
    """How many edits a typed text may be from a name: none for a short one, which is near too many, two for a long one."""
    letters = sum(map(str.isalnum, text))
    return (letters >= ONE_EDIT_LETTERS) + (letters >= TWO_EDITS_LETTERS)


class EditDistances:
    """Compares a typed text with the beginnings of texts.

    An edit is a letter too many, too few or another, or two neighbours swapped (no letter is edited twice).
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._alphabet = {letter: code for code, letter in enumerate(sorted(set().union(*texts)), 1)}
        if len(self._alphabet) >= _UNKNOWN:
            raise ValueError("the texts have more different letters than are ever used")
        self._lengths = np.fromiter((min(len(text), WIDTH + 2) for text in texts), np.int16, len(texts))
        self._letters = np.zeros((WIDTH + 2, len(texts)), np.uint16)
        for number, text in enumerate(texts):
            codes = [self._alphabet[letter] for letter in text[: WIDTH + 2]]
            self._letters[: len(codes), number] = codes
        self._neighbours = {
            most: Neighbours(self._letters, self._lengths, least - most, most)
            for most, least in ((1, ONE_EDIT_LETTERS), (2, TWO_EDITS_LETTERS))
        }

    def candidates(self, typed: str) -> NDArray[np.int64]:
        """All texts that can begin within the allowed edits of `typed`, and some others, ascending."""
        most = allowed_edits(typed)
        if not most or len(typed) > WIDTH:
            return np.empty(0, np.int64)
        return self._neighbours[most].of(self._codes(typed))

    def near(self, typed: str, candidates: NDArray[np.int64]) -> tuple[NDArray[np.int64], _Cells]:
        """Those of the candidates that begin within the allowed edits of `typed`, and by how many edits, both of shape (n,).

        The last letters of both must be the same, unless the text ends there: "warf" is not taken for the beginning of
        "war wound".
        """
        most, codes, rows = allowed_edits(typed), self._codes(typed), candidates
        before = previous = np.full((2 * most + 1, len(rows)), _FAR, np.uint8)
        for shift in range(most + 1):
            previous[most + shift] = shift  # nothing typed: the letters so far are too many
        for place in range(1, len(codes) + 1):
            cells = self._next_row(codes, place, rows, previous, before)
            alive = cells.min(axis=0) <= most
            rows, before, previous = rows[alive], previous[:, alive], cells[:, alive]
        distances = self._at_the_end(codes, rows, previous)
        kept = distances <= most
        return rows[kept], distances[kept]

    def _codes(self, typed: str) -> list[int]:
        return [self._alphabet.get(letter, _UNKNOWN) for letter in typed]

    def _next_row(
        self, codes: Sequence[int], place: int, rows: NDArray[np.int64], previous: _Cells, before: _Cells
    ) -> _Cells:
        """The distances of the first `place` typed letters from beginnings of each text: `place - most` letters and longer."""
        size, most = len(previous), len(previous) // 2
        cells = np.full_like(previous, _FAR)
        for band in range(size):
            end = place + band - most  # how many letters of the text are compared
            if end < 0 or end > len(self._letters):
                continue
            if end == 0:
                cells[band] = place
                continue
            letter = self._letters[end - 1][rows]
            found = previous[band] + (letter != codes[place - 1])
            if band + 1 < size:
                found = np.minimum(found, previous[band + 1] + 1)
            if band:
                found = np.minimum(found, cells[band - 1] + 1)
            if place > 1 and end > 1:
                swapped = (letter == codes[place - 2]) & (self._letters[end - 2][rows] == codes[place - 1])
                found = np.where(swapped, np.minimum(found, before[band] + 1), found)
            cells[band] = np.minimum(found, _FAR)
        return cells

    def _at_the_end(self, codes: Sequence[int], rows: NDArray[np.int64], last: _Cells) -> _Cells:
        """The least distance of the typed text from a beginning of each text."""
        best = np.full(len(rows), _FAR, np.uint8)
        lengths, most = self._lengths[rows], len(last) // 2
        for band, distances in enumerate(last):
            end = len(codes) + band - most
            if not 0 < end <= len(self._letters):
                continue
            letter = self._letters[end - 1][rows]
            ends_alike = letter == codes[-1]
            if len(codes) > 1 and end > 1:
                ends_alike |= (letter == codes[-2]) & (self._letters[end - 2][rows] == codes[-1])
            valid = (end <= lengths) & (ends_alike | (end == lengths))
            best = np.where(valid, np.minimum(best, distances), best)
        return best
