"""Choose the device and the precision of a run: `auto` selects bfloat16 if the device multiplies faster in it.

CPUs differ a lot: a step of MiniLM in bfloat16 takes half as long on one with matrix units for it, and 4.5 times as long
on one that emulates it.
"""

from __future__ import annotations

import time
from typing import Final

import torch

from encoders.training.recipe import Recipe
from mappings.errors import InvalidInput

ROWS, WIDTH, WIDER = 2048, 384, 1536
"""The sizes of a feed-forward layer of MiniLM on a group of texts, where most of a step's time goes."""
ROUNDS: Final = 5
WORTH_IT: Final = 0.9
"""bfloat16 is chosen below this fraction of float32's time: rounding should be worth a clear gain."""


def choose_device(recipe: Recipe) -> str:
    """'cuda' if the recipe allows it and there is a GPU, else 'cpu'. Raises `InvalidInput` if it demands a missing one."""
    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device is 'cuda', but torch finds no GPU; 'auto' uses one if there is one", field="device")
    return "cuda" if recipe.device != "cpu" and torch.cuda.is_available() else "cpu"


def choose_precision(device: str, threads: int) -> str:
    """`bf16` or `fp32`, whichever multiplies faster on `threads` threads of this device."""
    if device != "cpu":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return "bf16" if _seconds(torch.bfloat16) < WORTH_IT * _seconds(torch.float32) else "fp32"
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def _seconds(dtype: torch.dtype) -> float:
    """The shortest time of one product over several rounds, after a warm-up round."""
    left, right = torch.ones(ROWS, WIDTH, dtype=dtype), torch.ones(WIDTH, WIDER, dtype=dtype)
    times = []
    for _ in range(1 + ROUNDS):
        started = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - started)
    return min(times[1:])
