"""aNMM-1: weights are shared by similarity rather than by place, and query words are attended (Yang et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, cosines, masked_softmax

BINS = 201
SCALE = 10.0


class Anmm(nn.Module):
    """Their equation 5: y = Σ_j softmax_j(v · q_j) σ(Σ_k w_k x_jk).

    x_jk is the sum of the cosines of query word j that fall into bin k: 200 over [−1, 1), and one of exact matches. y is
    between 0 and 1; for the softmax over a query's candidates it is multiplied by a learned number, 10 at first, which
    changes no order.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.bins = nn.Parameter(torch.zeros(BINS).uniform_(-0.1, 0.1))
        self.attend = nn.Linear(sizes.dimension, 1, bias=False)
        self.scale = nn.Parameter(torch.tensor(SCALE))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        matched = torch.sigmoid(sum_bins(batch) @ self.bins)
        attention = masked_softmax(self.attend(batch.query).squeeze(2), batch.query_mask)
        return self.scale * (attention * matched).sum(1)


def sum_bins(batch: MatchBatch) -> Tensor:
    """(b, q, 201): the sum of the cosines in each bin."""
    similar = cosines(batch.query, batch.passage)
    bins = ((similar.detach() + 1) / 2 * (BINS - 1)).floor().long().clamp(0, BINS - 2)
    bins = bins.masked_fill(batch.exact, BINS - 1)
    counted = similar * batch.passage_mask[:, None, :]
    return similar.new_zeros(*similar.shape[:2], BINS).scatter_add(2, bins, counted)
