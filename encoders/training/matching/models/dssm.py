"""DSSM: two deep networks over letter trigrams, compared by cosine (Huang et al. 2013)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import TRIGRAMS, MatchBatch
from encoders.training.matching.layers import MatcherSizes, read_once

HIDDEN = 300
SMOOTHING = 10.0
"""γ of their equation 5: cosines are multiplied by it before the softmax over a query's candidates."""


class Dssm(nn.Module):
    """Their equations 3 and 4: l_1 = W_1 x, l_i = tanh(W_i l_i−1 + b_i), and γ cos(y_Q, y_D).

    x counts the letter trigrams of a text; W_1 x is the sum of a vector for each of them, and here tanh follows it, too. 300,
    300 and `units` values.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.query, self.passage = _Tower(sizes.units), _Tower(sizes.units)

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        left = read_once(self.query, batch.query_number, batch.query_trigrams)
        right = read_once(self.passage, batch.passage_number, batch.passage_trigrams)
        return SMOOTHING * functional.cosine_similarity(left, right)


class _Tower(nn.Module):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.count = nn.EmbeddingBag(TRIGRAMS + 1, HIDDEN, mode="sum", padding_idx=0)
        nn.init.normal_(self.count.weight, std=HIDDEN**-0.5)
        self.deeper = nn.Sequential(
            nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, units), nn.Tanh()
        )

    def forward(self, trigrams: Tensor) -> Tensor:
        """(b, n, t) -> (b, units)."""
        return self.deeper(self.count(trigrams.flatten(1)))
