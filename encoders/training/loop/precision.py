"""Which precision a run computes in: `auto` takes bfloat16 where the device multiplies faster in it.

Processors differ by a lot: a step of MiniLM takes half as long in bfloat16 on one that has matrix units for it, and 4.5
times as long on one that has to emulate it.
"""

from __future__ import annotations

import time
from typing import Final

import torch

ROWS, WIDTH, WIDER = 2048, 384, 1536
"""A feed-forward layer of MiniLM on a group of texts: where most of a step's time goes."""
ROUNDS: Final = 5
WORTH: Final = 0.9
"""bfloat16 is taken below this share of float32's time: what rounds more should be clearly faster."""


def fastest(device: str, threads: int) -> str:
    """`bf16` or `fp32`, as `threads` of this device multiply faster."""
    if device != "cpu":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return "bf16" if _seconds(torch.bfloat16) < WORTH * _seconds(torch.float32) else "fp32"
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def _seconds(dtype: torch.dtype) -> float:
    """The shortest of some rounds of one product; the round before them warms up."""
    left, right = torch.ones(ROWS, WIDTH, dtype=dtype), torch.ones(WIDTH, WIDER, dtype=dtype)
    taken = []
    for _ in range(1 + ROUNDS):
        begun = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - begun)
    return min(taken[1:])
