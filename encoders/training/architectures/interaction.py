"""A cross-encoder head that compares tokens: each query token is matched with the most similar passage token.

MaxSim of ColBERT (Khattab & Zaharia 2020, eq. 3) over jointly encoded tokens, with a weight for each query token and
a linear term on the CLS token. Untrained it is the mean MaxSim, which already ranks; training starts there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

SCALE = 20.0
"""The initial factor from cosine to logit: with 1, a softmax over candidates would be nearly flat."""
LEAST = -1.0
"""The minimum cosine, used for tokens outside the passage, so that they never win over a passage token."""
OUT = -1e4
"""A logit with no weight in a softmax, within the range of fp16."""


class InteractionHead(nn.Module):
    """s = scale * sum_i a_i max_j cos(h_i, h_j) / sum_i a_i + w . h_CLS + b, where a_i = exp(importance . h_i).

    Query tokens are numbered by i, passage tokens by j. Parameters: `scale` (), `importance` (d,), `linear` (d -> 1).
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SCALE))
        self.importance = nn.Parameter(torch.zeros(hidden_size))
        self.linear = nn.Linear(hidden_size, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor, query: Tensor, passage: Tensor, cls: Tensor | None = None) -> Tensor:
        """Hidden states (n, t, d) and the masks (n, t) of query and passage tokens -> one logit each, (n,).

        Masks can be boolean or 0/1; special tokens and padding belong to neither. `cls` (n, d) is given if the CLS token
        is not the first. An empty query scores by its CLS token alone; with an empty passage every cosine is -1.
        """
        query, passage = query.bool(), passage.bool()
        unit = functional.normalize(hidden, dim=-1)
        nearest = (unit @ unit.transpose(1, 2)).masked_fill(~passage.unsqueeze(1), LEAST).amax(dim=-1)  # (n, t)
        weights = (hidden @ self.importance).masked_fill(~query, OUT).softmax(dim=-1)
        # For an empty query the softmax spreads over tokens outside it, so the mask is applied again.
        interaction = (weights * nearest * query.to(nearest.dtype)).sum(dim=-1)
        first = hidden[:, 0] if cls is None else cls
        return self.scale * interaction + self.linear(first).squeeze(-1)
