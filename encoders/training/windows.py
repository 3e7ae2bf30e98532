"""The part of a passage that a query asks for: as a collection serves an encoder windows of a passage, so it trains."""

from __future__ import annotations

from functools import lru_cache

from mappings.analysis.passages import windows
from mappings.analysis.words import tokens
from mappings.documents import Passage


def nearest(text: str, query: str, words: int) -> str:
    """The run of sentences of at most `words` words that shares most of the query's stems, the first of equals.

    0 words: all of the text.
    """
    if not words:
        return text
    asked = _stems(query)
    return max(_runs(text, words), key=lambda run: len(asked & run[1]))[0]


@lru_cache(maxsize=65_536)
def _runs(text: str, words: int) -> tuple[tuple[str, frozenset[str]], ...]:
    """The windows of a text, each with its stems; many queries share a text."""
    return tuple((run, _stems(run)) for run in windows(Passage("", 0, 0, "", "", text), words))


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(token.term for token in tokens(text))
