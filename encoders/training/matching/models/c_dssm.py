"""C-DSSM: convolutions over the letter trigrams of three words, the largest values, and a cosine (Shen et al. 2014)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import TRIGRAMS, MatchBatch
from encoders.training.matching.layers import MatcherSizes, masked_max, read_once
from encoders.training.matching.models.dssm import HIDDEN, SMOOTHING

WINDOW = 3


class CDssm(nn.Module):
    """Their equations 1 to 4: h_t = tanh(W_c l_t), v = max_t h_t, y = tanh(W_s v + b), and γ cos(y_Q, y_D).

    l_t has the trigram counts of words t − 1, t and t + 1 one after the other, so W_c l_t is the sum of a vector for each
    trigram and each of the three places. 300 and `units` values.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.query, self.passage = _ConvolvedTower(sizes.units), _ConvolvedTower(sizes.units)

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        left = read_once(self.query, batch.query_number, batch.query_trigrams, batch.query_mask)
        right = read_once(self.passage, batch.passage_number, batch.passage_trigrams, batch.passage_mask)
        return SMOOTHING * functional.cosine_similarity(left, right)


class _ConvolvedTower(nn.Module):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.count = nn.EmbeddingBag(TRIGRAMS + 1, WINDOW * HIDDEN, mode="sum", padding_idx=0)
        nn.init.normal_(self.count.weight, std=HIDDEN**-0.5)
        self.deeper = nn.Sequential(nn.Linear(HIDDEN, units), nn.Tanh())

    def forward(self, trigrams: Tensor, mask: Tensor) -> Tensor:
        """(b, n, t), (b, n) -> (b, units)."""
        pairs, words, width = trigrams.shape
        found = self.count(trigrams.reshape(pairs * words, width)).view(pairs, words, WINDOW, HIDDEN)
        before, here, after = functional.pad(found, (0, 0, 0, 0, 1, 1)).unbind(2)
        windows = torch.tanh(before[:, :-2] + here[:, 1:-1] + after[:, 2:])
        return self.deeper(masked_max(windows, mask))
