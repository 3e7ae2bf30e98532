"""Codes of vectors, one bit a coordinate and a factor, from which inner products with any query are estimated.

Of a row x in a cell with the centroid c, the code has the signs of the rest r = x - c and the factor |r|^2 / sum |r_i|. The
product of x with a query q is then nearly c q + factor * sum_i sign(r_i) q_i: the estimator of Gao and Long 2024, "RaBitQ:
Quantizing High-Dimensional Vectors with a Theoretical Error Bound for Approximate Nearest Neighbor Search", section 3.2, here
without their random rotation, which changed nothing. Of a row without a cell, c is 0.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.vectors.scans import Words, weighted_distances

Floats = NDArray[np.float32]
_DIGITS: Final = 2
_HEAVIEST: Final = 2**_DIGITS - 1
_UNIT: Final = 0.8
"""A unit of magnitude, as a share of the mean one: of normally distributed values, it leaves the least error (.22)."""
_LEAST: Final = np.float32(1e-9)


class AskedCode(NamedTuple):
    """A query for estimates: signs, shape (words,), magnitudes in binary digits, shape (digits, words), their unit and sum."""

    signs: Words
    weights: Words
    unit: np.float32
    total: int


def pack_signs(vectors: NDArray[Any]) -> Words:
    """The signs of vectors, shape (n, d), as words of 64 bits, shape (n, words); what is left of the last one is zeros."""
    packed = np.packbits(vectors > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def factors(rests: Floats) -> Floats:
    """The factor of each of the rests, shape (n, d); 0 of zeros."""
    found: Floats = np.einsum("ij,ij->i", rests, rests) / np.maximum(np.abs(rests).sum(axis=1), _LEAST)
    return found


def asked_code(query: Floats) -> AskedCode:
    """A query of shape (d,) with magnitudes rounded to two binary digits: estimates are nearly as good as with its floats."""
    magnitudes = np.abs(query)
    unit = np.float32(_UNIT) * max(magnitudes.mean(), _LEAST)
    weights = np.minimum(np.rint(magnitudes / unit), _HEAVIEST).astype(np.uint8)
    digits = np.stack([(weights >> digit) & 1 for digit in range(_DIGITS)])
    return AskedCode(pack_signs(query[None])[0], pack_signs(digits), unit, int(weights.sum()))


def estimates(signs: Words, own: Floats, bases: Floats, asked: AskedCode) -> Floats:
    """The estimated product of each row with the query.

    `signs`, shape (words, n), and `own` factors are the rows' codes, `bases` the products of the query with their centroids.
    """
    differing = weighted_distances(signs, asked.signs, asked.weights)
    found: Floats = bases + own * (asked.unit * (asked.total - 2 * differing.astype(np.float32)))
    return found
