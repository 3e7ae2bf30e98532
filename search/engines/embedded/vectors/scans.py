"""Scans of all rows: inner products of int8 rows, and how many bits of rows differ.

`numkong` runs them where it is installed; numpy computes the same results more slowly.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

numkong: Any = import_module("numkong") if find_spec("numkong") else None  # not every machine has a wheel

Distances = NDArray[np.uint16]
_PRODUCT_BLOCK: Final = 16_384
_BIT_BLOCK: Final = 65_536
_BITS: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1, dtype=np.uint16)
"""How many bits each byte has."""


def products(rows: Any, query: NDArray[np.int8]) -> Any:
    """Inner products of int8 rows, shape (n, d), with an int8 query, as float32."""
    if numkong is None:
        return plain_products(rows, query)
    return np.asarray(numkong.cdist(query[None], rows, "dot"))[0].astype(np.float32)


def plain_products(rows: Any, query: NDArray[np.int8]) -> Any:
    """Inner products of int8 rows with an int8 query in numpy, block by block; the sums are exact in float32."""
    wide = query.astype(np.float32)
    starts = range(0, len(rows), _PRODUCT_BLOCK)
    blocks = (rows[start : start + _PRODUCT_BLOCK].astype(np.float32) @ wide for start in starts)
    return np.concatenate([*blocks]) if len(rows) else np.empty(0, np.float32)


def distances(bits: NDArray[np.uint8], query: NDArray[np.uint8]) -> Distances:
    """How many bits of each row, shape (n, bytes), differ from the query's."""
    if numkong is None:
        return plain_distances(bits, query)
    found = np.asarray(numkong.cdist(query[None], bits, "hamming", dtype="uint1"))[0]
    return np.asarray(found.astype(np.uint16))


def plain_distances(bits: NDArray[np.uint8], query: NDArray[np.uint8]) -> Distances:
    """How many bits of each row differ from the query's, in numpy, block by block."""
    starts = range(0, len(bits), _BIT_BLOCK)
    blocks = [_BITS[bits[start : start + _BIT_BLOCK] ^ query].sum(1, dtype=np.uint16) for start in starts]
    return np.concatenate(blocks) if blocks else np.empty(0, np.uint16)
