"""What a process does before it answers its first request: load the models, and reduce the work of garbage collection."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Final

from mappings.documents import Access
from mappings.errors import MedleyError
from mappings.garbage import exempt_loaded_objects
from search.bootstrap import Medley
from search.completion.completions import CompletionRequest
from search.discourse.models import WholeDocumentEncoder

YOUNG_GENERATION_THRESHOLD: Final = 20_000
"""Net new objects that trigger a collection of the youngest generation. A search allocates thousands, hardly any of them
in reference cycles: Python's default of 700 would interrupt every search several times."""

_WARM_UP_TEXT: Final = "Does early treatment shorten the stay in hospital? " * 6


_NOBODY: Final = Access("start", frozenset())
_MISTYPED: Final = "metfromin"
"""What no name begins with: it makes the first completion read all names, and those that are near."""


def freeze_loaded_objects() -> None:
    """Call once everything long-lived is loaded: it is exempted from garbage collection."""
    exempt_loaded_objects()
    gc.set_threshold(YOUNG_GENERATION_THRESHOLD, *gc.get_threshold()[1:])


def warm_up(medley: Medley) -> None:
    """Load the lexicon and the models of every collection, run each model once, and read the names that complete what is typed.

    So the first search and the first completion wait for none of them.

    A model that can't be loaded does not stop the process: the readiness check and every answer report it.
    """
    names: list[str] = []
    with suppress(MedleyError):
        names = medley.collections.names()
    for name in names:
        with suppress(MedleyError):
            _warm_up_collection(medley, name)


def _warm_up_collection(medley: Medley, name: str) -> None:
    medley.collections.reader(name)
    for field, fingerprint in medley.engine.resolve(name).encoders.items():
        encoder = medley.models.find_index_encoder(field, fingerprint)
        if isinstance(encoder, WholeDocumentEncoder):
            encoder.encode_query(_WARM_UP_TEXT, _WARM_UP_TEXT)
        elif encoder is not None:
            encoder.encode_queries([_WARM_UP_TEXT])
    medley.complete(CompletionRequest(name, _NOBODY, _MISTYPED))
    stages = medley.models.rerank_stages(medley.collections.get(name))
    for anytime in (stages.first, stages.last) if stages else ():
        if anytime is not None:
            # A model's first run is slow: called directly, it does not count towards the estimated pace.
            anytime.reranker.score(_WARM_UP_TEXT, [_WARM_UP_TEXT])
            # Different texts: a poly-encoder encodes equal ones only once, and would seem too fast.
            anytime.score(_WARM_UP_TEXT, [f"{_WARM_UP_TEXT} {number}" for number in range(4)], None)
