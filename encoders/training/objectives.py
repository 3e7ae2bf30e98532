"""What training minimises. Scores and vectors in, a scalar out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def contrastive(queries: Tensor, passages: Tensor, known: Tensor, temperature: float) -> Tensor:
    """Softmax cross-entropy of each query over all passages of the batch (CAPR P2; van den Oord et al. 2018, eq. 4).

    `queries` (b, d) and `passages` (b + n, d) have unit rows; passage i answers query i. `known` (b, b + n) is true
    where a passage is another known answer: such a one is neither rewarded nor punished.
    """
    scores = queries @ passages.T / temperature
    scores = scores.masked_fill(known, float("-inf"))
    return functional.cross_entropy(scores, torch.arange(len(queries), device=scores.device))


def listwise(scores: Tensor) -> Tensor:
    """Softmax cross-entropy of the first of each row's candidates. `scores` (b, 1 + k)."""
    return functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


def pointwise(scores: Tensor) -> Tensor:
    """Two classes, each candidate for itself (CLAIMS L4). `scores` (b, 1 + k), the positive first."""
    targets = torch.zeros_like(scores)
    targets[:, 0] = 1
    return functional.binary_cross_entropy_with_logits(scores, targets)


RERANKING: dict[str, Callable[[Tensor], Tensor]] = {"listwise": listwise, "pointwise": pointwise}
