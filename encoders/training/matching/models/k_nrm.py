"""K-NRM: soft matches counted by kernels (Xiong et al. 2017)."""

from __future__ import annotations

from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, RbfKernels, cosines


class Knrm(nn.Module):
    """Their equation 1: w · φ(M) + b over the kernels of `RbfKernels`; without its tanh, which changes no order."""

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.kernels = RbfKernels()
        self.score = nn.Linear(RbfKernels.COUNT, 1)

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        features = self.kernels(cosines(batch.query, batch.passage), batch.query_mask, batch.passage_mask)
        return self.score(features).squeeze(1)
