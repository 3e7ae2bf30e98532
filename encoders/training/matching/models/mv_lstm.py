"""MV-LSTM: words in their context compared, and the strongest matches (Wan et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import BothWays, MatcherSizes, mlp, pair_mask, read_once

STRONGEST = 10


class MvLstm(nn.Module):
    """Their equations 3 and 5 to 7: s(u, v) = uᵀ W v + b of the positions' BiLSTM states, the k largest, an MLP."""

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.query = BothWays(nn.LSTM, sizes.dimension, sizes.units)
        self.passage = BothWays(nn.LSTM, sizes.dimension, sizes.units)
        self.interact = nn.Parameter(torch.eye(2 * sizes.units))
        self.bias = nn.Parameter(torch.zeros(()))
        self.score = mlp((STRONGEST, STRONGEST, 1))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        left = read_once(self.query, batch.query_number, batch.query, batch.query_mask)
        right = read_once(self.passage, batch.passage_number, batch.passage, batch.passage_mask)
        matrix = left @ self.interact @ right.transpose(1, 2) + self.bias
        return self.score(take_strongest(matrix, pair_mask(batch.query_mask, batch.passage_mask))).squeeze(1)


def take_strongest(matrix: Tensor, mask: Tensor) -> Tensor:
    """(b, q, p) -> (b, 10): the largest values, largest first; zeros behind them if there are fewer."""
    values = matrix.masked_fill(~mask, float("-inf")).flatten(1)
    found = values.topk(min(STRONGEST, values.shape[1]), 1).values
    found = found.masked_fill(found == float("-inf"), 0.0)
    return functional.pad(found, (0, STRONGEST - found.shape[1]))
