"""Names by what was typed of them: by their beginnings, those of their words, and with typing mistakes."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.completion.edits import EditDistances

_LAST: Final = "\U0010ffff"
_APOSTROPHES: Final = dict.fromkeys(map(ord, "'\u2019\u02bc\u2032`"))


class SpelledName(NamedTuple):
    """A name of the thing number `owner`, in the order of preferred names. A `short` form, such as a code, is never found by mistakes."""

    owner: int
    text: str
    preferred: bool = False
    short: bool = False


class NameMatch(NamedTuple):
    """The thing number `owner`, found by its name `text`; the lower `rank`, the better.

    0: typed in whole. 1: a beginning of the preferred name, 2: of another one, 3: of a later word. 4: with one edit, a
    beginning of a name, 5: of a later word. 6, 7: the same with two edits.
    """

    owner: int
    text: str
    rank: int


def folded(text: str) -> str:
    """`text` as names are compared: without case, accents, apostrophes and other punctuation; "" if nothing is left."""
    plain = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES)).casefold()
    kept = "".join(letter if letter.isalnum() else " " for letter in plain if not unicodedata.combining(letter))
    return " ".join(kept.split())


class NameIndex:
    """Finds names by what was typed of them. It never changes, and threads may share it.

    Each word of a name is an entry: the name from this word on, in the order of the letters.
    """

    def __init__(self, names: Iterable[SpelledName]) -> None:
        self._names = tuple(names)
        entries = sorted(self._entries())
        self._texts = [text for text, _, _ in entries]
        self._of_name = np.fromiter((number for _, number, _ in entries), np.int64, len(entries))
        starts = np.fromiter((start for _, _, start in entries), bool, len(entries))
        preferred = np.fromiter((item.preferred for item in self._names), bool, len(self._names))
        owners = np.fromiter((item.owner for item in self._names), np.int64, len(self._names))
        self._owners = owners[self._of_name]
        self._starts = starts
        self._ranks = np.where(starts, np.where(preferred[self._of_name], 1, 2), 3)
        alphabetical = sorted(range(len(self._names)), key=lambda number: (self._names[number].text, number))
        self._alphabetical = np.argsort(np.asarray(alphabetical, np.int64))

    def find(self, typed: str, counts: NDArray[np.int64], limit: int) -> list[NameMatch]:
        """The best `limit` things that have what was typed in a name and a count above 0, by rank, count and name.

        `counts` has shape (things,). A whole name or word is not taken for a mistake.
        """
        text = folded(typed)
        if not text:
            return []
        first, last = bisect_left(self._texts, text), bisect_left(self._texts, text + _LAST)
        entries = np.arange(first, last)
        whole = entries < bisect_right(self._texts, text, first)
        ranks = np.where(whole & self._starts[first:last], 0, self._ranks[first:last])
        seen = counts[self._owners[entries]] > 0
        found = self._best(entries[seen], ranks[seen], counts, limit)
        if len(found) < limit and not whole.any():
            others = self._best(*self._mistyped(text, counts), counts, limit + len(found))
            known = {item.owner for item in found}
            found += [item for item in others if item.owner not in known]
        return found[:limit]

    def _best(
        self, entries: NDArray[np.int64], ranks: NDArray[np.int64], counts: NDArray[np.int64], limit: int
    ) -> list[NameMatch]:
        """The best entry of each thing, the best `limit` of them."""
        owners, names = self._owners[entries], self._of_name[entries]
        order = np.lexsort((self._alphabetical[names], owners, -counts[owners], ranks))
        found: dict[int, NameMatch] = {}
        for place in order.tolist():
            owner = int(owners[place])
            if owner not in found:
                found[owner] = NameMatch(owner, self._names[names[place]].text, int(ranks[place]))
                if len(found) == limit:
                    break
        return list(found.values())

    def _mistyped(self, text: str, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries that what was typed can be mistaken for, with their ranks."""
        among, distances = self._distances
        candidates = distances.candidates(text)
        seen = counts[self._owners[among[candidates]]] > 0
        near, edits = distances.near(text, candidates[seen])
        entries = among[near]
        return entries, 2 * edits.astype(np.int64) + np.where(self._starts[entries], 2, 3)

    @cached_property
    def _distances(self) -> tuple[NDArray[np.int64], EditDistances]:
        """The entries that mistakes may find, and their letters."""
        spelled = [place for place, number in enumerate(self._of_name.tolist()) if not self._names[number].short]
        return np.asarray(spelled, np.int64), EditDistances([self._texts[place] for place in spelled])

    def _entries(self) -> Iterator[tuple[str, int, bool]]:
        """(the name from a word on, number of the name, whether that is its first word)."""
        for number, item in enumerate(self._names):
            text = folded(item.text)
            places = [0, *(place + 1 for place, letter in enumerate(text) if letter == " ")]
            for place in places if text else ():
                yield text[place:], number, place == 0
