"""What a process does before it answers its first request: load the models, and keep the garbage collector out of the way."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Final

from mappings.errors import MedleyError
from search.bootstrap import Medley

YOUNG: Final = 20_000
"""New objects before the collector examines them. A search allocates thousands, hardly any of them in cycles: Python's
default of 700 would interrupt every search several times."""


def settle() -> None:
    """Call once everything long-lived is loaded: no later collection examines it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


_SAMPLE: Final = "Does early treatment shorten the stay in hospital? " * 6


def warm_up(medley: Medley) -> None:
    """Load the models of every collection and run each once, so that the first search waits for neither.

    A model that cannot be loaded is reported by readiness and by the answers.
    """
    names: list[str] = []
    with suppress(MedleyError):
        names = medley.collections.names()
    for name in names:
        with suppress(MedleyError):
            _warm_up_collection(medley, name)


def _warm_up_collection(medley: Medley, name: str) -> None:
    for fingerprint in medley.engine.resolve(name).encoders.values():
        if (encoder := medley.models.find_encoder(fingerprint)) is not None:
            encoder.encode_queries([_SAMPLE])
    stages = medley.models.rerank_stages(medley.collections.get(name))
    for anytime in (stages.first, stages.last) if stages else ():
        if anytime is not None:
            anytime.reranker.score(_SAMPLE, [_SAMPLE])  # the first run is slow: no pace is learned from it
            anytime.score(_SAMPLE, [f"{_SAMPLE} {number}" for number in range(4)], None)
