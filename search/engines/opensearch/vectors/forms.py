"""The forms in which vectors are sent to a cluster. An index names its own in its `_meta`.

Most of what a node does with a vector that arrives is to read its numbers, twice, and to write them once, so whole numbers
are sent where they can be. Values are rounded to float16, as in the embedded engine, so that both compute the same scores;
every form gives back exactly these.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from search.protocols import Vectors

_STEPS: Final = 2.0**24


@dataclass(frozen=True, slots=True)
class VectorForm:
    """How vectors are sent.

    The index holds each `scale` times as long as it is; `encode` maps rows of float16, shape (n, d), to the n values that
    are put into JSON.
    """

    name: str
    encode: Callable[[NDArray[np.float16]], Sequence[Any]]
    scale: float = 1.0

    def query(self, vector: Vectors) -> Vectors:
        """The query vector whose product with a stored row is that of `vector` with the row itself."""
        return vector / np.float32(self.scale)

    def decode(self, rows: Sequence[Sequence[float]]) -> Vectors:
        """Rows as they are read from the index, as they were written."""
        return np.asarray(rows, np.float32) / np.float32(self.scale)


def _as_numbers(rows: NDArray[np.float16]) -> Sequence[Any]:
    return list(rows.astype(np.float32))


def _as_whole_numbers(rows: NDArray[np.float16]) -> Sequence[Any]:
    return list((rows.astype(np.float32) * np.float32(_STEPS)).astype(np.int32))


def _as_base64(rows: NDArray[np.float16]) -> Sequence[Any]:
    return [base64.b64encode(row.tobytes()).decode("ascii") for row in rows.astype("<f4")]


NUMBERS: Final = VectorForm("numbers", _as_numbers)
"""JSON numbers: any index, and that of an earlier version of this program, which names no form."""

WHOLE_NUMBERS: Final = VectorForm("whole", _as_whole_numbers, _STEPS)
"""Whole JSON numbers: a float16 between -1 and 1 is a multiple of 2**-24. Products of floats scale by a
power of two exactly. Not for quantised fields: a quantiser can have absolute tolerances."""

BASE64: Final = VectorForm("base64", _as_base64)
"""Little-endian float32 as base64: nodes that take it (see `search.engines.opensearch.vectors.choice`)."""

FORMS: Final[Mapping[str, VectorForm]] = {form.name: form for form in (NUMBERS, WHOLE_NUMBERS, BASE64)}
