"""Duet: where the query's words are in the passage, beside what both texts mean (Mitra et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, convolve, masked_max, mlp, read_once

SHARE = 10
"""The distributed part takes the largest values over a tenth of the passage's places, as the paper's 100 of 1,000."""


class Duet(nn.Module):
    """Their equation 1: f(Q, D) = f_local(Q, D) + f_distributed(Q, D).

    Local (their section 3.1): each query word's row of the exact matches, over all places of the passage, through one
    linear layer and tanh; then an MLP over all of them. Distributed (3.2): tanh of convolutions over three words, of the
    query the largest values over the text, of the passage those over each window; their product, and an MLP. Both read texts
    of a fixed length, cut or padded. The distributed part reads vectors of words instead of letter n-grams.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        units, self.sizes = sizes.units, sizes
        self.places = nn.Linear(sizes.max_passage, units)
        self.local = mlp((sizes.max_query * units, units, 1), nn.Tanh)
        self.query = nn.Conv1d(sizes.dimension, units, 3, padding=1)
        self.passage = nn.Conv1d(sizes.dimension, units, 3, padding=1)
        self.of_query, self.of_passage = nn.Linear(units, units), nn.Linear(units, units)
        self.window = max(1, sizes.max_passage // SHARE)
        self.distributed = mlp((units * (sizes.max_passage - self.window + 1), units, 1), nn.Tanh)

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        return (self.match_locally(batch) + self.match_meanings(batch)).squeeze(1)

    def match_locally(self, batch: MatchBatch) -> Tensor:
        """(b, 1), from the exact matches."""
        rows, columns = self.sizes.max_query, self.sizes.max_passage
        missing = (0, columns - batch.exact.shape[2], 0, rows - batch.exact.shape[1])
        return self.local(torch.tanh(self.places(functional.pad(batch.exact.float(), missing))).flatten(1))

    def match_meanings(self, batch: MatchBatch) -> Tensor:
        """(b, 1), from the vectors."""
        query = read_once(self._read_query, batch.query_number, batch.query, batch.query_mask)
        passage = read_once(self._read_passage, batch.passage_number, batch.passage, batch.passage_mask)
        return self.distributed((query[:, None] * passage).flatten(1))

    def _read_query(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.tanh(self.of_query(masked_max(torch.tanh(convolve(self.query, values)), mask)))

    def _read_passage(self, values: Tensor, mask: Tensor) -> Tensor:
        read = torch.tanh(convolve(self.passage, values)) * mask[:, :, None]
        read = functional.pad(read, (0, 0, 0, self.sizes.max_passage - read.shape[1]))
        pooled = functional.max_pool1d(read.transpose(1, 2), self.window, stride=1).transpose(1, 2)
        return torch.tanh(self.of_passage(pooled))
