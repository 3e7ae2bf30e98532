"""The columns of a slot: its passage id, and for each vector field exact rows, int8 rows, and the scales of these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.slots.columns import Column, Rows

IDS: Final = "ids.bin"
ENDS: Final = "ids.end"
_LEVELS: Final = 127
_UNWRITTEN: Final = np.float32(1.0)
"""The scale of a row of a document that was written without vectors; that of a vector is its largest value by 127."""
_ZERO: Final = np.float32(2.0)
"""The scale of a row of zeros, which never ranks: a discourse model read nothing of it."""


def id_bytes(folder: Path) -> Column:
    """The passage ids, one after the other."""
    return Column(folder / IDS, np.dtype(np.uint8), 1)


def id_ends(folder: Path) -> Column:
    """Where the id of each slot ends."""
    return Column(folder / ENDS, np.dtype(np.uint64), 1)


def columns(folder: Path, fields: Mapping[str, int]) -> dict[str, tuple[Column, Column, Column]]:
    """For each vector field of dimension d: float16 rows, int8 rows, and the float32 scale of each int8 row."""
    return {
        name: (
            Column(folder / f"{name}.f16", np.dtype(np.float16), dimension),
            Column(folder / f"{name}.i8", np.dtype(np.int8), dimension),
            Column(folder / f"{name}.scale", np.dtype(np.float32), 1),
        )
        for name, dimension in fields.items()
    }


def quantise(vectors: NDArray[np.float32]) -> tuple[Rows, Rows, Rows]:
    """Float16 rows, int8 rows and scales, so that `scale * int8` approximates the row to 1/254 of its largest value.

    Rows of NaN are those of documents without vectors: they become zero, and `is_unwritten`.
    """
    unwritten = np.isnan(vectors).any(axis=1, keepdims=True)
    vectors = np.where(unwritten, np.float32(0), vectors)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0, largest / _LEVELS, np.where(unwritten, _UNWRITTEN, _ZERO)).astype(np.float32)
    return vectors.astype(np.float16), np.rint(vectors / scale).astype(np.int8), scale


def is_empty(scales: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows with these scales are zero, for whatever reason."""
    return np.asarray(scales >= _UNWRITTEN)


def is_unwritten(scales: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows with these scales are of documents that were written without vectors."""
    return np.asarray(scales == _UNWRITTEN)
