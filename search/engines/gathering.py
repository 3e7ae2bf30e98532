"""From the rows of an index to a ranking of passages: they are fetched, best first, until enough distinct documents are among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mappings.documents import document_of
from search.query import Ranking, Scored

Rows = tuple[Sequence[int], NDArray[np.float64]]
"""Slots and their scores, best first."""

_MORE: Final = 10
_GROWTH: Final = 3
_CEILING: Final = 20_000
_READ: Final = 64


def gather(
    fetch: Callable[[int], Rows], passage_ids: Callable[[Sequence[int]], list[str]], documents: int, spread: float
) -> Ranking:
    """The passages of the best rows, to so many distinct documents; `fetch` gives as many rows as it is asked for.

    `spread` is about how many rows of a document there are, `passage_ids` names the passages of slots. Fetching past the last
    score gives a tie at the end to the lower id, whatever the order in the files.
    """
    limit = int(documents * spread) + _MORE
    while True:
        slots, scores = fetch(limit)
        items, below = _read(slots, scores, passage_ids, documents)
        ranking = Ranking(items)
        end = ranking.holding(documents)
        complete = len(slots) < limit or (end is not None and ranking[end - 1].score > below)
        if complete or limit >= _CEILING:
            return ranking.first(end)
        limit = min(limit * _GROWTH, _CEILING)


def _read(
    slots: Sequence[int], scores: NDArray[np.float64], passage_ids: Callable[[Sequence[int]], list[str]], documents: int
) -> tuple[list[Scored], float]:
    """Each passage once, with the score of its best row, and the score of the first row that was not read, or the last one's.

    To read which passage a row belongs to takes longer than to rank it, so no more are read than `documents` need.
    """
    found: dict[str, Scored] = {}
    seen: set[str] = set()
    values = scores.tolist()
    for start in range(0, len(slots), _READ):
        after = start + _READ
        for passage, score in zip(passage_ids(slots[start:after]), values[start:after], strict=True):
            if passage not in found:
                found[passage] = Scored(passage, document := document_of(passage), score)
                seen.add(document)
        if len(seen) >= documents and after < len(values) and values[after] < values[after - 1]:
            return list(found.values()), values[after]
    return list(found.values()), values[-1] if values else 0.0
