"""Token vectors of a passage in at most 8 kB: their mean, and what each differs from it, in one or two bits a number.

A passage's token vectors have much in common, since they were trained to be pooled: their mean is kept with 8 bits a number.
The differences are projected on the directions in which they vary most, if the model directory has these (`BASIS`), then
rotated, which spreads them evenly over the numbers, and each number becomes one of a few levels, with a scale for each token.
So the codec needs no codebook of the corpus, unlike ColBERTv2 (Santhanam et al. 2022, section 3.3), whose residuals are those
of centroids: passages can be added one by one, and an index describes itself. The scale keeps the product of a difference
with itself exact, as in RaBitQ (Gao and Long 2024, section 3.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from encoders.pooling import Floats
from mappings.errors import Damaged

MOST_BYTES: Final = 8_000
"""The most bytes of a passage, twice as many without a basis. The tokens nearest to the mean share a vector if there are more."""
BASIS_WIDTH: Final = 128
"""The numbers of a difference that a basis keeps: of 384, they hold three quarters of the variance."""

_HEAD: Final = np.dtype([("vectors", "<u2"), ("shared", "<u2"), ("scale", "<f4")])
_LEVELS: Final = {1: (0.7979,), 2: (0.4528, 1.510)}
"""The positive levels for normally distributed numbers of variance 1 that leave the least error (Lloyd 1982, Max 1960)."""
_STEPS: Final = 8.0
_LEAST_EXPONENT: Final = -24.0
# A scale is a power of two in steps of an eighth: one byte, with an error of at most 4.4 %, from 6e-8 to 200.


@dataclass(frozen=True, slots=True)
class CompressedTokens:
    """n passages of together t vectors of k numbers: `codes` (t, k bits) and `scales` (t,) beside the `means` (n, d).

    `starts` (n,) is the first vector of each passage, `counts` (t,) how many tokens a vector stands for.
    """

    means: Floats
    codes: NDArray[np.uint8]
    scales: Floats
    counts: Floats
    starts: NDArray[np.int64]

    def blocks(self, most: int) -> Iterator[CompressedTokens]:
        """The passages in parts of at most `most` vectors, or of one passage."""
        ends = np.append(self.starts[1:], len(self.codes))
        first = 0
        while first < len(ends):
            start = int(self.starts[first])
            last = max(first + 1, int(np.searchsorted(ends, start + most, "right")))
            rows, own = slice(start, int(ends[last - 1])), slice(first, last)
            vectors = (self.codes[rows], self.scales[rows], self.counts[rows])
            yield CompressedTokens(self.means[own], *vectors, self.starts[own] - start)
            first = last


class TokenCodec:
    """Compresses and reads token vectors of `dimension` numbers. Immutable, so threads can share it.

    With `basis`, orthonormal columns of shape (d, k), differences have k numbers of two bits; without, d of one bit.
    """

    def __init__(self, dimension: int, basis: Floats | None = None) -> None:
        self.dimension = dimension
        self.bits = 1 if basis is None else 2
        width = dimension if basis is None else basis.shape[1]
        turn = rotation(width)
        self._basis = np.ascontiguousarray(turn if basis is None else basis.astype(np.float32) @ turn)
        self._packed = -(-width * self.bits // 8)
        most_bytes = MOST_BYTES if basis is not None else 2 * MOST_BYTES
        self._most = max(1, (most_bytes - _HEAD.itemsize - dimension) // (1 + self._packed))
        digest = "" if basis is None else f"-{hashlib.sha256(basis.astype('<f4').tobytes()).hexdigest()[:12]}"
        self.name = f"mean-{width}x{self.bits}{digest}"

    @property
    def width(self) -> int:
        """The numbers k of a difference."""
        return int(self._basis.shape[1])

    def compress(self, tokens: Floats) -> bytes:
        """The token vectors (t, d) of a passage as bytes; no bytes for none."""
        if not len(tokens):
            return b""
        mean = tokens.mean(axis=0)
        scale = np.float32(max(float(np.abs(mean).max()) / 127, 1e-12))
        whole = np.rint(mean / scale).astype(np.int8)
        differences, shared = self._limit(tokens - whole * scale)
        codes, scales = self._quantise(differences @ self._basis)
        head = np.array([(len(differences), shared, scale)], _HEAD)
        return b"".join(part.tobytes() for part in (head, whole, scales, codes))

    def read(self, passages: Sequence[bytes]) -> CompressedTokens:
        """What `compress` made of each passage, without its numbers unpacked. Raises `Damaged` for other bytes."""
        heads = [self._head(content) for content in passages]
        ends = np.cumsum([head["vectors"] for head in heads], dtype=np.int64)
        means = np.empty((len(passages), self.dimension), np.float32)
        scales, codes = np.empty(int(ends[-1]), np.uint8), np.empty((int(ends[-1]), self._packed), np.uint8)
        counts = np.ones(len(scales), np.float32)
        for number, (content, head, end) in enumerate(zip(passages, heads, ends.tolist(), strict=True)):
            count, at = int(head["vectors"]), _HEAD.itemsize + self.dimension
            means[number] = np.frombuffer(content, np.int8, self.dimension, _HEAD.itemsize) * head["scale"]
            scales[end - count : end] = np.frombuffer(content, np.uint8, count, at)
            codes[end - count : end] = np.frombuffer(content, np.uint8, -1, at + count).reshape(count, -1)
            if head["shared"]:
                counts[end - 1] = head["shared"]
        exponents = scales.astype(np.float32) / np.float32(_STEPS) + np.float32(_LEAST_EXPONENT)
        return CompressedTokens(means, codes, np.exp2(exponents), counts, np.append(0, ends[:-1]))

    def unpack(self, codes: NDArray[np.uint8]) -> Floats:
        """The levels of codes (t, packed): shape (t, k)."""
        found = self._table.take(codes).view(np.float32).reshape(len(codes), -1)
        return np.asarray(found[:, : self.width])

    def project(self, vectors: Floats) -> Floats:
        """Vectors (m, d) -> (m, k), so that products with levels are those with differences."""
        return np.asarray(vectors @ self._basis, dtype=np.float32)

    def restore(self, levels: Floats) -> Floats:
        """The inverse of `project`, as far as k numbers hold a vector: (m, k) -> (m, d)."""
        return np.asarray(levels @ self._basis.T, dtype=np.float32)

    def decompress(self, content: bytes) -> tuple[Floats, Floats]:
        """The vectors (v, d) of one passage, and how many tokens each stands for (v,)."""
        found = self.read([content])
        return found.means + self.restore(self.unpack(found.codes) * found.scales[:, None]), found.counts

    def _limit(self, differences: Floats) -> tuple[Floats, int]:
        """At most so many differences as may be kept, in order, and how many tokens the last one stands for (0: one each)."""
        excess = len(differences) - self._most
        if excess <= 0:
            return differences, 0
        by_size = np.argsort(np.linalg.norm(differences, axis=1), kind="stable")
        near, far = by_size[: excess + 1], np.sort(by_size[excess + 1 :])
        return np.concatenate([differences[far], differences[near].mean(axis=0, keepdims=True)]), len(near)

    def _quantise(self, rows: Floats) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Rows (t, k) -> packed codes and the exponents of scales (t,)."""
        lengths = np.sqrt(np.mean(rows**2, axis=1, keepdims=True)) + np.float32(1e-12)
        even = rows / lengths
        places = np.zeros(rows.shape, np.uint8)
        for border in self._borders:
            places += even > border
        levels = self._all_levels[places]
        scales = (rows**2).sum(axis=1) / np.maximum((levels * rows).sum(axis=1), 1e-12)
        exponents = np.rint((np.log2(np.maximum(scales, 1e-12)) - _LEAST_EXPONENT) * _STEPS)
        bits = np.stack([(places >> bit) & 1 for bit in range(self.bits)], axis=-1).reshape(len(rows), -1)
        return np.packbits(bits, axis=1, bitorder="little"), np.clip(exponents, 0, 255).astype(np.uint8)

    def is_valid(self, content: bytes) -> bool:
        """Whether bytes have the form of what `compress` returns for some tokens."""
        least = _HEAD.itemsize + self.dimension
        if len(content) <= least:
            return False
        return len(content) == least + int(np.frombuffer(content, _HEAD, 1)[0]["vectors"]) * (1 + self._packed)

    def _head(self, content: bytes) -> Any:
        if not self.is_valid(content):
            raise Damaged(f"stored token vectors have {len(content):,} bytes, which is not what {self.name} writes")
        return np.frombuffer(content, _HEAD, 1)[0]

    @cached_property
    def _all_levels(self) -> Floats:
        positive = _LEVELS[self.bits]
        return np.array([*(-level for level in reversed(positive)), *positive], np.float32)

    @cached_property
    def _borders(self) -> Floats:
        return np.asarray((self._all_levels[1:] + self._all_levels[:-1]) / 2)

    @cached_property
    def _table(self) -> NDArray[Any]:
        """The levels that each byte holds, as one item of 256: so one look-up copies all of them."""
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        places = (bits.reshape(256, -1, self.bits) << np.arange(self.bits, dtype=np.uint8)).sum(axis=-1)
        levels = np.ascontiguousarray(self._all_levels[places])
        return levels.view(np.dtype((np.void, levels[0].nbytes)))[:, 0]


def find_basis(passages: Sequence[Floats]) -> Floats:
    """The directions in which tokens differ most from the mean of their passage: orthonormal columns (d, k), in float32."""
    differences = np.concatenate([tokens - tokens.mean(axis=0) for tokens in passages])
    values, columns = np.linalg.eigh(differences.T.astype(np.float64) @ differences)
    return np.ascontiguousarray(columns[:, np.argsort(-values)][:, :BASIS_WIDTH], dtype=np.float32)


def rotation(width: int) -> Floats:
    """An orthogonal matrix (width, width), always the same: signs of a hash, then Hadamard matrices as large as divide it."""
    bits = np.frombuffer(hashlib.shake_128(b"medley").digest(width), np.uint8) & 1
    block = width & -width
    hadamard = np.ones((1, 1), np.float32)
    while len(hadamard) < block:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    turned = np.kron(np.eye(width // block, dtype=np.float32), hadamard / np.float32(np.sqrt(block)))
    return np.asarray((1 - 2 * bits.astype(np.float32))[:, None] * turned)
