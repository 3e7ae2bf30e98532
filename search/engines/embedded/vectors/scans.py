"""Scans of many rows: inner products of int8 rows, how many bits of rows differ, and float16 rows as float32.

`numkong` computes products and conversions where it is installed; numpy has the same results more slowly. Bits are counted by
numpy alone: a word of 64 bits at a time over many rows, which takes half the time of a call for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from encoders.devices import cores

numkong: Any = import_module("numkong") if find_spec("numkong") else None  # not every machine has a wheel

Words = NDArray[np.uint64]
Distances = NDArray[np.uint16]
_PRODUCT_BLOCK: Final = 16_384
_BIT_BLOCK: Final = 32_768
"""So many words at a time stay in a core's cache."""
_PART_ROWS: Final = 400_000
"""As many rows are worth a thread of their own."""
_MOST_PARTS: Final = 4
_ADDED: Final = 3
"""The counts of so many words fit into a byte."""


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


def widen(rows: NDArray[np.float16]) -> NDArray[np.float32]:
    """Float16 rows as float32."""
    if numkong is None or not rows.size:
        return rows.astype(np.float32)
    return np.asarray(numkong.astype(rows, "float32"))


def inner(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inner products of float32 rows, shape (n, d), with a query, by one thread.

    Those of OpenBLAS stay busy for a while after each product, on a core that the words' leg needs.
    """
    found: NDArray[np.float32] = np.einsum("ij,j->i", rows, query)
    return found


def distances(bits: Words, query: Words) -> Distances:
    """How many bits of each column of `bits`, shape (words, n), differ from `query`, shape (words,)."""
    return _by_parts(_count_bits, bits, query, _PART_ROWS)


def weighted_distances(bits: Words, query: Words, weights: Words) -> Distances:
    """The sum of the weights of the bits of each column of `bits`, shape (words, n), that differ from `query`, shape (words,).

    `weights`, shape (digits, words), have the binary digits of the weight of each bit, the lowest first.
    """
    return _by_parts(partial(_weigh_bits, weights), bits, query, _PART_ROWS // len(weights))


def _by_parts(fill: Callable[..., None], bits: Words, query: Words, worth: int) -> Distances:
    """What `fill` finds for all columns; each so many are worth a thread of their own."""
    found = np.empty(bits.shape[1], np.uint16)
    parts = min(_MOST_PARTS, cores(), 1 + len(found) // worth)
    bounds = [len(found) * part // parts for part in range(parts + 1)]
    count = partial(fill, bits, query, found)
    others = [_helpers().submit(count, *pair) for pair in islice(pairwise(bounds), 1, None)]
    count(0, bounds[1])
    for other in others:
        other.result()
    return found


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="scan")


def _count_bits(bits: Words, query: Words, found: Distances, first_row: int, end_row: int) -> None:
    """Fill `found` for the rows from `first_row` to `end_row`; numpy lets other threads run meanwhile."""
    room = min(end_row - first_row, _BIT_BLOCK)
    differing, counts, more = np.empty(room, np.uint64), np.empty(room, np.uint8), np.empty(room, np.uint8)
    for start in range(first_row, end_row, max(room, 1)):
        own = found[start : min(start + room, end_row)]
        block = bits[:, start : start + len(own)]
        xor, sums, next_sums = (part[: len(own)] for part in (differing, counts, more))
        own[:] = 0
        for first in range(0, len(query), _ADDED):
            np.bitwise_count(np.bitwise_xor(block[first], query[first], out=xor), out=sums)
            for word in range(first + 1, min(first + _ADDED, len(query))):
                np.bitwise_count(np.bitwise_xor(block[word], query[word], out=xor), out=next_sums)
                sums += next_sums
            own += sums


def _weigh_bits(weights: Words, bits: Words, query: Words, found: Distances, first_row: int, end_row: int) -> None:
    """Fill `found` for the rows from `first_row` to `end_row`; numpy lets other threads run meanwhile."""
    room = min(end_row - first_row, _BIT_BLOCK)
    differing, heavy, counts = (
        np.empty((len(query), room), np.uint64),
        np.empty(room, np.uint64),
        np.empty(room, np.uint8),
    )
    sums, wide = np.empty(room, np.uint8), np.empty(room, np.uint16)
    for start in range(first_row, end_row, max(room, 1)):
        own = found[start : min(start + room, end_row)]
        size = slice(len(own))
        xor = np.bitwise_xor(bits[:, start : start + len(own)], query[:, None], out=differing[:, size])
        own[:] = 0
        for digit, words in enumerate(weights):
            for first in range(0, len(query), _ADDED):
                sums[size] = 0
                for word in range(first, min(first + _ADDED, len(query))):
                    np.bitwise_and(xor[word], words[word], out=heavy[size])
                    sums[size] += np.bitwise_count(heavy[size], out=counts[size])
                own += np.left_shift(sums[size], digit, out=wide[size], dtype=np.uint16)
