"""Conv-KNRM: soft matches of n-grams of different lengths, counted by kernels (Dai et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, RbfKernels, convolve, cosines, read_once

FILTERS = 128
LENGTHS = (1, 2, 3)


class ConvKnrm(nn.Module):
    """Their equations 2 to 6: g_i^h = relu(W^h t_i:i+h + b^h), 128 values, of one, two and three words.

    The cosines of every length in the query with every length in the passage go through `RbfKernels`: nine times eleven
    features, of which the score is linear. At a text's end a window reads zeros.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.grams = nn.ModuleList([nn.Conv1d(sizes.dimension, FILTERS, length) for length in LENGTHS])
        self.kernels = RbfKernels()
        self.score = nn.Linear(RbfKernels.COUNT * len(LENGTHS) ** 2, 1)

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        return self.score(self.features(batch)).squeeze(1)

    def features(self, batch: MatchBatch) -> Tensor:
        """(b, 99): for each length in the query and, within it, each in the passage, the eleven kernels."""
        left = read_once(self._compose, batch.query_number, batch.query).unbind(1)
        right = read_once(self._compose, batch.passage_number, batch.passage).unbind(1)
        masks = (batch.query_mask, batch.passage_mask)
        return torch.cat([self.kernels(cosines(query, passage), *masks) for query in left for passage in right], 1)

    def _compose(self, values: Tensor) -> Tensor:
        """(b, n, d) -> (b, 3, n, 128), for each length."""
        padded = ((layer, functional.pad(values, (0, 0, 0, layer.kernel_size[0] - 1))) for layer in self.grams)
        return torch.stack([convolve(layer, text).relu() for layer, text in padded], 1)
