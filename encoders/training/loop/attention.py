"""Attention without torch's fused kernel: on a CPU in bfloat16, the backward pass takes a fraction of the time.

Measured with MiniLM on 12 sequences of 170 tokens on one core: a step of the whole model takes 0.62 seconds of CPU time
instead of 0.99 (torch 2.15). The fused kernel saves memory, of which short texts need little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

NAME: Final = "medley_plain"


def plain_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None = None
) -> Tensor:
    """softmax(*Q Kᵀ* · scaling + mask) *V* of inputs (b, heads, t, d), in their precision: shape (b, t, heads, d).

    There is no dropout, because `families.prepare_config` switches it off.
    """
    scores = torch.matmul(query * (scaling or query.shape[-1] ** -0.5), key.transpose(2, 3))
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    with torch.autocast(
        query.device.type, enabled=False
    ):  # it would compute the softmax and everything after it in float32
        shares = torch.softmax(scores, dim=-1)
    return torch.matmul(shares, value).transpose(1, 2).contiguous()


@contextmanager
def use_plain_attention(backbones: Iterable[Any], enabled: bool) -> Iterator[None]:
    """Switch the backbones to `plain_attention` during the block if `enabled`; those that can't switch keep their own."""
    changed = [item for item in backbones if enabled and getattr(item, "_supports_sdpa", False)]
    before = [item.config._attn_implementation for item in changed]
    for item in changed:
        item.set_attn_implementation(NAME)
    try:
        yield
    finally:
        for item, name in zip(changed, before, strict=True):
            item.set_attn_implementation(name)


AttentionInterface.register(
    NAME,
    lambda _, query, key, value, attention_mask, scaling=None, **others: (plain_attention(query, key, value, attention_mask, scaling), None),
)  # fmt: skip
AttentionMaskInterface.register(NAME, eager_mask)
