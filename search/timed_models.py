"""The interfaces of models that accept a time limit, such as those of a model server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mappings.errors import Unavailable
from search.protocols import Vectors


@runtime_checkable
class TimedEncoder(Protocol):
    """An encoder that also accepts a time limit; it returns the same vectors, or raises."""

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Like `Encoder.encode_passages`. Raises `Unavailable` after `seconds`."""
        ...


class TimedOut(Unavailable):
    """A model server did not respond within the time limit."""


@runtime_checkable
class TimedReranker(Protocol):
    """A reranker that also accepts a time limit; it returns the same scores, or raises."""

    def score_within(self, query: str, passages: Sequence[str], seconds: float) -> Vectors:
        """Like `Reranker.score`. Raises `TimedOut` after `seconds`."""
        ...
