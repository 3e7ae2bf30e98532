"""The parts of a passage that are nearest to a query: the windows that share most stems with it."""

from __future__ import annotations

from functools import lru_cache

from mappings.analysis.passages import windows
from mappings.analysis.words import terms
from mappings.documents import Passage


def nearest(passage: Passage, query: str, words: int, best: int = 1) -> tuple[str, ...]:
    """The `best` of the passage's windows of at most `words` words, earlier ones on ties, in the order of the passage.

    Each is a text for a model, with the passage's context before it; at least one. 0 words: the whole passage as one.
    """
    asked = _stems(query)
    runs = _runs(passage, words)
    order = sorted(range(len(runs)), key=lambda place: (-len(asked & runs[place][1]), place))
    return tuple(runs[place][0] for place in sorted(order[:best]))


@lru_cache(maxsize=1_024)
def _runs(passage: Passage, words: int) -> tuple[tuple[str, frozenset[str]], ...]:
    """The windows of a passage, each with its stems. The cache is small, since it shares memory with the index."""
    return tuple((run, frozenset(terms(run))) for run in windows(passage, words))


@lru_cache(maxsize=64)
def _stems(query: str) -> frozenset[str]:
    return frozenset(terms(query))
