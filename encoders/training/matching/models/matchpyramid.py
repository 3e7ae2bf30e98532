"""MatchPyramid: the matrix of similarities read as an image (Pang et al. 2016)."""

from __future__ import annotations

from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, cosines, mlp, pair_mask, pool_grid

GRID = (3, 10)
KERNELS = 32


class MatchPyramid(nn.Module):
    """Their equations 4 to 8: M_ij = cos(q_i, p_j), relu of convolutions of 3 × 3, dynamic max pooling to 3 × 10, an MLP."""

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        self.planes = nn.Conv2d(1, KERNELS, 3, padding=1)
        self.score = mlp((KERNELS * GRID[0] * GRID[1], sizes.units, 1))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        mask = pair_mask(batch.query_mask, batch.passage_mask)
        matrix = cosines(batch.query, batch.passage) * mask
        plane = self.planes(matrix[:, None]).relu()
        pooled = pool_grid(plane, batch.query_mask.sum(1), batch.passage_mask.sum(1), GRID)
        return self.score(pooled.flatten(1)).squeeze(1)
