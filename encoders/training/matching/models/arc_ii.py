"""ARC-II: convolutions over the pairs of segments of both texts (Hu et al. 2014)."""

from __future__ import annotations

from torch import Tensor, nn

from encoders.training.matching.inputs import MatchBatch
from encoders.training.matching.layers import MatcherSizes, convolve, mlp, pair_mask, pool_grid

GRID = (3, 10)


class ArcII(nn.Module):
    """Their equations 3 to 5: z_ij = relu(W [x_i:i+2, y_j:j+2] + b), then pooling and a convolution of 3 × 3 over them.

    A linear map of two segments side by side is the sum of a map of each, so it is one convolution over each text. Pooling
    between the layers is 2 × 2; at the end dynamic, to a grid, so that the texts can have any length.
    """

    def __init__(self, sizes: MatcherSizes) -> None:
        super().__init__()
        units = sizes.units
        self.query = nn.Conv1d(sizes.dimension, units, 3, padding=1)
        self.passage = nn.Conv1d(sizes.dimension, units, 3, padding=1, bias=False)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        self.planes = nn.Conv2d(units, units, 3, padding=1)
        self.score = mlp((units * GRID[0] * GRID[1], units, 1))

    def forward(self, batch: MatchBatch) -> Tensor:
        """Scores (b,)."""
        left, right = convolve(self.query, batch.query), convolve(self.passage, batch.passage)
        plane = (left[:, :, None] + right[:, None]).relu().permute(0, 3, 1, 2)
        mask = pair_mask(batch.query_mask, batch.passage_mask)[:, None]
        plane, mask = self.pool(plane * mask), self.pool(mask.float())
        plane = self.planes(plane).relu() * mask
        rows, columns = ((own.sum(1) + 1) // 2 for own in (batch.query_mask, batch.passage_mask))
        return self.score(pool_grid(plane, rows, columns, GRID).flatten(1)).squeeze(1)
