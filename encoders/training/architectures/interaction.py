"""A score from the tokens of a joint input: each token of the query looks for its nearest in the passage.

MaxSim of ColBERT (Khattab & Zaharia 2020, eq. 3) over jointly encoded tokens, with a weight for each query token and
a linear part on the CLS token. Untrained it is the mean MaxSim, which ranks already; training starts there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

SCALE = 20.0
"""What a cosine is worth as a logit at the start: with 1, a softmax over candidates would be nearly flat."""
LEAST = -1.0
"""The least cosine: what stands for a passage token that is none never wins over a real one."""
OUT = -1e4
"""A logit that no softmax sees, small enough in size for fp16."""


class InteractionHead(nn.Module):
    """s = scale * sum_i a_i max_j cos(h_i, h_j) / sum_i a_i + w . h_CLS + b, where a_i = exp(importance . h_i).

    i runs over the query's tokens, j over the passage's. Parameters: `scale` (), `importance` (d,), `linear` (d -> 1).
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SCALE))
        self.importance = nn.Parameter(torch.zeros(hidden_size))
        self.linear = nn.Linear(hidden_size, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor, query: Tensor, passage: Tensor, cls: Tensor | None = None) -> Tensor:
        """Hidden states (n, t, d), masks (n, t) of the query's and the passage's tokens -> one logit each, (n,).

        Masks may be boolean or 0/1; special tokens and padding belong to neither. `cls` (n, d) where the CLS token is
        not the first. An empty query scores by its CLS token alone; to an empty passage every token is opposite.
        """
        query, passage = query.bool(), passage.bool()
        unit = functional.normalize(hidden, dim=-1)
        nearest = (unit @ unit.transpose(1, 2)).masked_fill(~passage.unsqueeze(1), LEAST).amax(dim=-1)  # (n, t)
        weights = (hidden @ self.importance).masked_fill(~query, OUT).softmax(dim=-1)
        # The weights of an empty query are spread over what is not of it.
        interaction = (weights * nearest * query.to(nearest.dtype)).sum(dim=-1)
        first = hidden[:, 0] if cls is None else cls
        return self.scale * interaction + self.linear(first).squeeze(-1)
