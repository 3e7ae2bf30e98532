"""How a process that answers requests keeps Python's collector out of their way."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 20_000
"""New objects before the collector looks through them. A search makes thousands, and hardly any in cycles: by Python's
own count of 700 each search would be stopped several times."""


def settle() -> None:
    """Call when everything that stays is loaded: no collection looks through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
