"""The roles of an input's tokens: query, passage, CLS, padding."""

from __future__ import annotations

import torch
from torch import Tensor


def segments(ids: Tensor, mask: Tensor, types: Tensor | None, cls: int, separator: int) -> tuple[Tensor, Tensor]:
    """Boolean masks (n, t) of the query tokens and of the passage tokens in joint inputs (n, t).

    Uses token types (0 and 1) if the family has them, otherwise the position of the first separator. The tokens with the
    ids `cls` and `separator`, and padding, belong to no segment.
    """
    real = mask.bool() & (ids != cls) & (ids != separator)
    second = (ids == separator).long().cumsum(dim=1) > 0 if types is None else types == 1
    return real & ~second, real & second


def cls_token(hidden: Tensor, mask: Tensor, last: bool) -> Tensor:
    """The hidden state of the CLS token, (n, t, d) -> (n, d): the first token, or with `last` the last real one.

    The mask tells which tokens are real, because XLNet's tokenizer pads on the left and the runtime on the right.
    """
    if not last:
        return hidden[:, 0]
    positions = torch.arange(mask.shape[1], device=mask.device)
    final = (positions * mask).argmax(dim=1)
    return hidden[torch.arange(hidden.shape[0], device=hidden.device), final]


def mean_token(hidden: Tensor, mask: Tensor) -> Tensor:
    """The mean over the real tokens, (n, t, d) -> (n, d)."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
