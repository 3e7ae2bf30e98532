"""ARC-I: each text becomes one vector by convolutions, and both together a score (Hu et al. 2014)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, convolve, mlp, read_once


class ArcI(nn.Module):
    """Their equations 1 and 2: z_i = g(x̂_i) · relu(W x̂_i + b) of windows of three words, then the larger of two neighbours.

    Twice; g is 0 where a window is all padding. Then the largest value over the text, so that it can have any length, and
    an MLP over both texts' vectors.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        units = sizes.units
        self.query, self.passage = _layers(sizes.dimension, units), _layers(sizes.dimension, units)
        self.score = mlp((2 * units, units, 1))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        read_query, read_passage = partial(read_sentence, self.query), partial(read_sentence, self.passage)
        left = read_once(read_query, batch.query_number, batch.query, batch.query_mask)
        right = read_once(read_passage, batch.passage_number, batch.passage, batch.passage_mask)
        return self.score(torch.cat([left, right], 1)).squeeze(1)


def _layers(dimension: int, units: int) -> nn.ModuleList:
    return nn.ModuleList([nn.Conv1d(dimension, units, 3, padding=1), nn.Conv1d(units, units, 3, padding=1)])


def read_sentence(layers: nn.ModuleList, values: Tensor, mask: Tensor) -> Tensor:
    """(b, n, d) -> (b, units)."""
    for layer in layers:
        values = convolve(layer, values).relu() * mask[:, :, None]
        values = functional.max_pool1d(values.transpose(1, 2), 2, ceil_mode=True).transpose(1, 2)
        mask = functional.max_pool1d(mask[:, None].float(), 2, ceil_mode=True)[:, 0] > 0
    return values.amax(1)
