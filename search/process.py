"""Settings of Python's garbage collector for a process that answers requests."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 20_000
"""New objects before the collector examines them. A search allocates thousands, hardly any of them in cycles: Python's
default of 700 would interrupt every search several times."""


def settle() -> None:
    """Call once everything long-lived is loaded: no later collection examines it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
