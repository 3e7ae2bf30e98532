"""The poly-encoder of CAPR (P4): a query's vector attends to a passage's token vectors, which are computed once.

Equation 2: y = softmax(P q^T), s = relu(W y) . q. The softmax gives weights over tokens, so y, which W takes and q
meets, is the sum of the token vectors by these weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.architectures.bi_encoder import Towers


class PolyScorer(nn.Module):
    """The scoring function. `weight` is W (d, d), at start the identity; `sharpness` multiplies P q^T before the softmax.

    The paper's is 1, on vectors of any length. Unit vectors need more: their products lie in [-1, 1], where the
    softmax is all but flat.
    """

    def __init__(self, width: int, sharpness: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))
        self.sharpness = sharpness

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Queries (b, d), passages' tokens (m, t, d) with their mask (m, t) -> scores (b, m)."""
        attention = torch.einsum("bd,mtd->bmt", queries, tokens) * self.sharpness
        weights = attention.masked_fill(~mask.bool(), float("-inf")).softmax(dim=-1)
        latent = functional.relu(torch.einsum("bmt,mtd->bmd", weights, tokens) @ self.weight.T)
        return torch.einsum("bmd,bd->bm", latent, queries)


class PolyEncoder(Towers):
    """Towers under a `PolyScorer`; where they normalise, token vectors have length one, too."""

    def __init__(
        self, passages: Any, queries: Any | None, pooling: str, normalise: bool, sharpness: float = 1.0
    ) -> None:
        super().__init__(passages, queries, pooling, normalise)
        self.head = PolyScorer(passages.config.hidden_size, sharpness)

    def tokens(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Inputs of passages (m, t) -> their token vectors (m, t, d)."""
        hidden = self.hidden(inputs, query=False)
        return functional.normalize(hidden, dim=-1) if self.normalise else hidden

    def similarities(self, queries: Mapping[str, Tensor], passages: Mapping[str, Tensor]) -> Tensor:
        """Inputs of b queries and m passages -> scores of each with each, (b, m), in float32 whatever the towers' precision."""
        left, right = self.vectors(queries, query=True), self.tokens(passages)
        with torch.autocast(left.device.type, enabled=False):
            scores: Tensor = self.head(left, right, passages["attention_mask"])
            return scores
