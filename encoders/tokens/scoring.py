"""Scores of a poly-encoder from compressed token vectors, for all passages at once: no model runs, no vector is rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoders.pooling import Floats, softmax
from encoders.tokens.codec import CompressedTokens, TokenCodec

_BLOCK = 2_048
"""Vectors that are unpacked at once: 1 MB at 128 numbers, which the processor's cache holds."""


@dataclass(frozen=True, slots=True)
class StoredTokenScorer:
    """A poly-encoder's head: `weight` is W (d, d), `importance` (d,), or None if a query has one vector only.

    Both methods need a query's products with tokens only, or with the few vectors that they attend to, and a product with
    the sum of a mean and a difference is the sum of two products. Softmax ignores what all tokens of a passage share.
    """

    weight: Floats
    importance: Floats | None
    sharpness: float

    def score(self, query: Floats, passages: CompressedTokens, codec: TokenCodec) -> Floats:
        """Scores of n passages against a query, (d,), or (m, d) with a vector for each of its tokens -> (n,).

        CAPR eq. 2, or the same for each token of a query, with y the tokens' vectors weighted by attention. A vector that
        stands for c tokens has c times the weight of one.
        """
        blocks = passages.blocks(_BLOCK)
        if self.importance is None:
            return np.concatenate([self._by_vector(query, block, codec) for block in blocks])
        shares = softmax(query @ self.importance)
        return np.concatenate([self._by_tokens(query, block, codec) @ shares for block in blocks])

    def _by_tokens(self, query: Floats, passages: CompressedTokens, codec: TokenCodec) -> Floats:
        """Q . W y for each token q of the query: shape (n, m)."""
        projected = query @ self.weight
        sides = codec.project(np.concatenate([query * self.sharpness, projected]))
        products = codec.unpack(passages.codes) @ sides.T * passages.scales[:, None]  # (t, 2m)
        attention = _attend(products[:, : len(query)], passages)
        values = np.add.reduceat(attention * products[:, len(query) :], passages.starts, axis=0)
        return np.asarray(values + passages.means @ projected.T, dtype=np.float32)

    def _by_vector(self, query: Floats, passages: CompressedTokens, codec: TokenCodec) -> Floats:
        """relu(W y) . q."""
        levels = codec.unpack(passages.codes)
        products = levels @ codec.project(query[None] * self.sharpness).T * passages.scales[:, None]  # (t, 1)
        weights = (_attend(products, passages) * passages.scales[:, None])[:, 0]
        ends = np.append(passages.starts[1:], len(levels))
        runs = [slice(*run) for run in zip(passages.starts.tolist(), ends.tolist(), strict=True)]
        attended = passages.means + codec.restore(np.stack([weights[run] @ levels[run] for run in runs]))
        return np.asarray(np.maximum(attended @ self.weight.T, 0) @ query, dtype=np.float32)


def _attend(products: Floats, passages: CompressedTokens) -> Floats:
    """The softmax over the vectors of each passage: shape (t, m)."""
    lengths = np.diff(np.append(passages.starts, len(products)))
    logits = products + np.log(passages.counts)[:, None]
    exponentials = np.exp(logits - np.repeat(np.maximum.reduceat(logits, passages.starts, axis=0), lengths, axis=0))
    return np.asarray(exponentials / np.repeat(np.add.reduceat(exponentials, passages.starts, axis=0), lengths, axis=0))
