"""DRMM: histograms of how similar a passage's words are to each word of the query (Guo et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, cosines, masked_softmax, mlp

BINS = 30
HIDDEN = 5


class Drmm(nn.Module):
    """Their equations 1 to 3: z_i = MLP(h_i), s = Σ_i g_i z_i with g = softmax(w · idf).

    h_i is the log-count histogram (LCH) of the cosines of query word i with the passage's words: 29 equal bins over
    [−1, 1), and one of exact matches. The last layer of the MLP has no tanh, unlike theirs.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.score = mlp((BINS, HIDDEN, 1), nn.Tanh)
        self.gate = nn.Parameter(torch.ones(()))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        matched = self.score(histograms(batch)).squeeze(2)
        return (matched * masked_softmax(self.gate * batch.idf, batch.query_mask)).sum(1)


@torch.no_grad()
def histograms(batch: MatchBatch) -> Tensor:
    """(b, q, 30): log(1 + the number of the passage's words in each bin)."""
    similar = cosines(batch.query, batch.passage)
    bins = ((similar + 1) / 2 * (BINS - 1)).floor().long().clamp(0, BINS - 2)
    bins = bins.masked_fill(batch.exact, BINS - 1)
    counted = batch.passage_mask[:, None, :].expand_as(similar).to(similar.dtype)
    return torch.log1p(similar.new_zeros(*similar.shape[:2], BINS).scatter_add(2, bins, counted))
