"""Pool hidden states into one vector per text, and the softmax. Padding never affects the result, whatever its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def pool(hidden: Floats, mask: NDArray[Any], pooling: str) -> Floats:
    """Hidden states (n, t, d) and a 0/1 mask (n, t), padded on the right -> (n, d): the mean, the first or the last token."""
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last":
        last = np.maximum(mask.astype(bool).sum(axis=1), 1) - 1
        return np.asarray(hidden[np.arange(len(hidden)), last])
    return mean(hidden, mask)


def mean(hidden: Floats, mask: NDArray[Any]) -> Floats:
    """The mean over the real tokens, (n, t, d) -> (n, d).

    The sum skips padding instead of multiplying it by zero, because a NaN or infinity there would survive that.
    """
    weights = mask.astype(bool)[:, :, None]
    total = np.sum(hidden, axis=1, where=weights, dtype=np.float32)
    return np.asarray(total / np.maximum(weights.sum(axis=1), 1), dtype=np.float32)


def unit(vectors: Floats) -> Floats:
    """Normalise rows to unit length, (n, d) -> (n, d). A row of zeros becomes the first axis, so that every row has a direction."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    axis = np.zeros((1, vectors.shape[1]), dtype=np.float32)
    axis[0, 0] = 1.0
    return np.where(norms > 1e-12, vectors / np.maximum(norms, 1e-12), axis).astype(np.float32)


def softmax(products: Floats) -> Floats:
    """The softmax along the first axis; -inf has no weight."""
    weights = np.exp(products - products.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0), dtype=np.float32)
