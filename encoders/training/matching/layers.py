"""What several matching networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class MatcherSizes:
    """`dimension` of the vectors, `units` of the layers, the most words of a query and of a passage."""

    dimension: int
    units: int
    max_query: int
    max_passage: int


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """(b, q, d), (b, p, d) -> (b, q, p)."""
    return functional.normalize(left, dim=-1) @ functional.normalize(right, dim=-1).transpose(1, 2)


def pair_mask(query_mask: Tensor, passage_mask: Tensor) -> Tensor:
    """(b, q), (b, p) -> (b, q, p): where both are words."""
    return query_mask[:, :, None] & passage_mask[:, None, :]


def mlp(sizes: tuple[int, ...], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers of these widths, with the activation between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Softmax over what the mask keeps; zeros where it keeps nothing."""
    found = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim)
    return found * mask


def masked_max(values: Tensor, mask: Tensor) -> Tensor:
    """(b, n, c), (b, n) -> (b, c): the largest value over the places that the mask keeps."""
    return values.masked_fill(~mask[:, :, None], float("-inf")).amax(1)


def convolve(layer: nn.Conv1d, values: Tensor) -> Tensor:
    """A convolution over the words of (b, n, c)."""
    found: Tensor = layer(values.transpose(1, 2)).transpose(1, 2)
    return found


def pool_grid(values: Tensor, rows: Tensor, columns: Tensor, grid: tuple[int, int]) -> Tensor:
    """Dynamic max pooling: (b, c, q, p) -> (b, c, *grid), over the first `rows` (b,) and `columns` (b,) of each pair.

    Cell k of n over a length l covers the places from floor(k l / n) to ceil((k + 1) l / n).
    """
    pooled = _pool_last(values.transpose(2, 3), rows, grid[0]).transpose(2, 3)
    return _pool_last(pooled, columns, grid[1])


def _pool_last(values: Tensor, lengths: Tensor, cells: int) -> Tensor:
    """(b, c, m, n) -> (b, c, m, cells)."""
    places, found = torch.arange(values.shape[3], device=values.device), []
    for cell in range(cells):
        start = cell * lengths // cells
        end = -(-(cell + 1) * lengths // cells)
        inside = (places >= start[:, None]) & (places < end[:, None])
        found.append(values.masked_fill(~inside[:, None, None, :], float("-inf")).amax(3))
    return torch.stack(found, 3)


def read_once(read: Callable[..., Tensor], numbers: Tensor, *values: Tensor) -> Tensor:
    """What `read` makes of each pair's values (b, …), computed once for all pairs whose text has the same number, (b,).

    The values are those of the first of these pairs, with its dropout.
    """
    places = torch.arange(len(numbers), device=numbers.device)
    first = places.new_full((int(numbers.max()) + 1,), len(numbers)).scatter_reduce(0, numbers, places, "amin")
    return read(*(own[first] for own in values))[numbers]


class RbfKernels(nn.Module):
    """The kernels of K-NRM (Xiong et al. 2017, eq. 3 to 5) on a matrix of cosines M.

    K_k(M_i) = Σ_j exp(−(M_ij − μ_k)² / 2σ_k²); φ_k = Σ_i log(1 + K_k(M_i)). Eleven kernels: μ from −.9 to .9 with σ = .1,
    and exact matches, μ = 1 with σ = .001. The 1 is MatchZoo's: without a match a kernel is 0 instead of minus infinity.
    """

    COUNT = 11

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("centres", torch.tensor([round(-0.9 + 0.2 * k, 1) for k in range(10)] + [1.0]))
        self.register_buffer("widths", torch.tensor([0.1] * 10 + [0.001]))

    def forward(self, matrix: Tensor, query_mask: Tensor, passage_mask: Tensor) -> Tensor:
        """(b, q, p) -> (b, 11)."""
        away = (matrix[:, :, :, None] - self.centres) ** 2 / (2 * self.widths**2)
        counts = (torch.exp(-away) * passage_mask[:, None, :, None]).sum(2)
        return (counts.log1p() * query_mask[:, :, None]).sum(1)


class BothWays(nn.Module):
    """A recurrent layer in both directions, which begin and end at a text's words and not at padding.

    One layer reads each text, another one each text reversed, which is the same as a packed bidirectional layer in a fifth
    of its time on a CPU: packed texts are read by another, slow program.
    """

    def __init__(self, kind: type[nn.LSTM | nn.GRU], dimension: int, units: int) -> None:
        super().__init__()
        self.forth, self.back = kind(dimension, units, batch_first=True), kind(dimension, units, batch_first=True)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """(b, n, d), (b, n) -> (b, n, 2 units), zeros where there is no word."""
        places, lengths = torch.arange(mask.shape[1], device=mask.device), mask.sum(1, keepdim=True)
        turned = torch.where(mask, lengths - 1 - places, places)
        back = _take(self.back(_take(values, turned))[0], turned)
        return torch.cat([self.forth(values)[0], back], 2) * mask[:, :, None]


def _take(values: Tensor, places: Tensor) -> Tensor:
    """The rows of (b, n, c) at the places (b, n)."""
    return values.gather(1, places[:, :, None].expand(-1, -1, values.shape[2]))
