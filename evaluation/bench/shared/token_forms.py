"""Forms in which the token vectors of a passage could be stored: what each keeps of a poly-encoder's scores, and its size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from encoders.pooling import Floats
from encoders.tokens.codec import TokenCodec, find_basis

Stored = tuple[Floats, float]
"""The vectors (v, d) that are read back, and the bytes that they take."""

_EIGHT: Final = 127
_FOUR: Final = 7


def _half(tokens: Floats) -> Stored:
    return tokens.astype(np.float16).astype(np.float32), 2 * tokens.size


def _scaled(levels: int) -> Callable[[Floats], Stored]:
    """Each number as one of so many levels of either sign, with a scale of two bytes for each vector."""

    def store(tokens: Floats) -> Stored:
        scale = np.maximum(np.abs(tokens).max(axis=1, keepdims=True), 1e-12) / levels
        bits = 8 if levels == _EIGHT else 4
        return np.rint(tokens / scale) * scale, len(tokens) * (tokens.shape[1] * bits / 8 + 2)

    return store


def _compressed(codec: TokenCodec) -> Callable[[Floats], Stored]:
    def store(tokens: Floats) -> Stored:
        content = codec.compress(tokens)
        vectors, counts = codec.decompress(content)
        return np.repeat(vectors, counts.astype(int), axis=0), len(content)

    return store


def _pooled(codec: TokenCodec) -> Callable[[Floats], Stored]:
    """The mean of each two neighbouring tokens (Clavie et al. 2024), compressed, and read back as two."""
    compressed = _compressed(codec)

    def store(tokens: Floats) -> Stored:
        starts = np.arange(0, len(tokens), 2)
        counts = np.diff(np.append(starts, len(tokens)))
        means = np.add.reduceat(tokens, starts, axis=0) / counts[:, None]
        vectors, size = compressed(means.astype(np.float32))
        return np.repeat(vectors, counts, axis=0), size

    return store


def forms(sample: Sequence[Floats]) -> Mapping[str, Callable[[Floats], Stored]]:
    """Name -> form; bases come from the token vectors of a `sample` of passages."""
    basis, dimension = find_basis(sample), sample[0].shape[1]
    two_bits = TokenCodec(dimension, basis)
    return {
        "half": _half,
        "8_bits": _scaled(_EIGHT),
        "4_bits": _scaled(_FOUR),
        "mean_1_bit": _compressed(TokenCodec(dimension)),
        "mean_basis_2_bits": _compressed(two_bits),
        "mean_half_basis_2_bits": _compressed(TokenCodec(dimension, basis[:, : max(1, basis.shape[1] // 2)])),
        "pooled_basis_2_bits": _pooled(two_bits),
    }
