"""What engines share to find patients: kept masks, and how the answers to single criteria combine, count and page."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from search.protocols import PatientsAnswer, PatientsRequest

_MASKS: Final = 512

Mask = NDArray[np.bool_]


class MaskCache:
    """The masks that were made last, eight to a byte. Thread-safe."""

    def __init__(self) -> None:
        self._masks: OrderedDict[Hashable, NDArray[np.uint8]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, size: int) -> Mask | None:
        """The mask of `key`, of shape (size,); None where it is not kept."""
        with self._lock:
            packed = self._masks.get(key)
            if packed is None:
                return None
            self._masks.move_to_end(key)
        return np.unpackbits(packed, count=size).view(np.bool_)

    def put(self, key: Hashable, mask: Mask) -> Mask:
        """Keep `mask`, and return it."""
        with self._lock:
            self._masks[key] = np.packbits(mask)
            self._masks.move_to_end(key)
            if len(self._masks) > _MASKS:
                self._masks.popitem(last=False)
        return mask


def choose(
    request: PatientsRequest, names: Sequence[str], known: Mask, met: Sequence[Mask]
) -> tuple[list[int], PatientsAnswer]:
    """The patients of the page, as places in `names`, and the answer, still without them.

    `names` are sorted; `known` and each criterion's `met` are masks of them, of shape (names,).
    """
    chosen = np.flatnonzero(known & _combined(request, met, len(names)))
    first = int(np.searchsorted(chosen, bisect_right(names, request.after))) if request.after else 0
    page: list[int] = chosen[first : first + request.size].tolist()
    counts = tuple(int(own.sum()) for own in met)
    return page, PatientsAnswer((), len(chosen), int(known.sum()), counts, first + len(page) < len(chosen))


def _combined(request: PatientsRequest, met: Sequence[Mask], size: int) -> Mask:
    first, second = len(request.all), len(request.all) + len(request.any)
    chosen = np.ones(size, bool)
    for own in met[:first]:
        chosen &= own
    if request.any:
        chosen &= np.logical_or.reduce(met[first:second])
    for own in met[second:]:
        chosen &= ~own
    return chosen
