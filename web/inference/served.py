"""The models of this server as encoder and reranker, for steps that read whole documents and rank whole answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import numpy as np

from encoders.batching import RequestLifetime
from encoders.pooling import Floats
from web.inference.models import LoadedModel

TOGETHER: Final = 32
"""The most texts that wait for a model at once; a long document has more windows than the queue has room for."""


_LIFETIME: Final[ContextVar[RequestLifetime]] = ContextVar("lifetime")
"""Of the request that this thread answers: the models are asked through protocols that know of no request."""


@contextmanager
def within(lifetime: RequestLifetime) -> Iterator[None]:
    """Let the models stop reading in the block when nobody waits for the request any more."""
    before = _LIFETIME.set(lifetime)
    try:
        yield
    finally:
        _LIFETIME.reset(before)


def _lifetime() -> RequestLifetime:
    return _LIFETIME.get(RequestLifetime())


class ServedEncoder:
    """A bi-encoder of this server as `search.protocols.Encoder`. Raises `Overloaded` where its queue is full."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self.fingerprint = model.fingerprint
        self.dimension = model.dimension

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, True)

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, False)

    def _encode(self, texts: Sequence[str], as_queries: bool) -> Floats:
        size = min(TOGETHER, self._model.capacity.limit)
        rows = [
            self._model.embed(texts[start : start + size], as_queries, True, _lifetime())
            for start in range(0, len(texts), size)
        ]
        return np.concatenate(rows) if rows else np.empty((0, self.dimension), np.float32)


class ServedReranker:
    """A cross-encoder of this server as `search.protocols.Reranker`. Raises `Overloaded` where its queue is full."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self.fingerprint = model.fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Shape (n,), in input order; a logit, higher is better."""
        return self._model.score(query, passages, _lifetime())
