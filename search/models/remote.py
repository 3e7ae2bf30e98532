"""Models on model servers, `medley inference` or text-embeddings-inference: the same `Encoder` and `Reranker`, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from search.models.calls import batches, embed, prepare, rerank
from search.models.connection import invalid_response
from search.models.servers import ServedModel, Server, Servers
from search.protocols import Vectors

QUERY_SECONDS: Final = 2.0
"""Time limit of encoding a query: a search that waits longer is useless."""

PASSAGES_SECONDS: Final = 120.0
"""Time limit of encoding a batch of passages of up to `USUAL_TOKENS`; of longer ones it is as many times longer."""
USUAL_TOKENS: Final = 512
MOST_TIMES: Final = 8
SCORE_SECONDS: Final = 10.0


class RemoteEncoder:
    """The bi-encoder with a given fingerprint, on any server; an `Encoder` and a `TimedEncoder`. Thread-safe.

    It can be created while every server is down: then its methods raise `Unavailable`.
    """

    def __init__(self, servers: Servers, fingerprint: str) -> None:
        self._servers, self.fingerprint = servers, fingerprint
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """The length d of a vector, as the server reports it or, where it doesn't, as its vectors show."""
        if not self._dimension:
            self._dimension = self._model().dimension or self.encode_passages(["dimension"]).shape[1]
        return self._dimension

    @property
    def form(self) -> str:
        """The numeric form that the server runs."""
        return self._model().form

    @property
    def reads_around(self) -> bool:
        """Whether the vector of a window can depend on the rest of its passage: so it is with some models of a server."""
        return True

    @property
    def reads_surroundings(self) -> bool:
        """Whether it can read what is around a passage in its document, as the server says."""
        return self._model().windows == "surroundings"

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        return self._encode(texts, "query", QUERY_SECONDS)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), unit rows, in input order."""
        times = min(MOST_TIMES, max(1.0, self._model().max_tokens / USUAL_TOKENS)) if texts else 1.0
        return self.encode_passages_within(texts, times * PASSAGES_SECONDS)

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Vectors:
        """As `encode_passages`, with a time limit. Raises `Unavailable` when it is exceeded."""
        return self._encode(texts, "passage", seconds)

    def _matches(self, model: ServedModel) -> bool:
        return model.kind == "bi-encoder" and model.fingerprint == self.fingerprint

    def _model(self) -> ServedModel:
        return self._servers.find(self._matches, f"the encoder {self.fingerprint[:12]}")

    def _encode(self, texts: Sequence[str], prompt: str, seconds: float) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        until = time.monotonic() + seconds

        def send(server: Server, model: ServedModel) -> Vectors:
            parts = [embed(server, model, batch, prompt, until) for batch in batches(texts, model)]
            if len({part.shape[1] for part in parts} | ({self._dimension} if self._dimension else set())) > 1:
                raise invalid_response(server.address, "vectors of different dimensions")
            return np.concatenate(parts)

        vectors = self._servers.call(self._matches, f"the encoder {self.fingerprint[:12]}", send, until)
        self._dimension = vectors.shape[1]
        return vectors


class RemoteReranker:
    """A cross-encoder by name, on any server; a `Reranker` and a `TimedReranker`. Thread-safe."""

    def __init__(self, servers: Servers, name: str) -> None:
        self._servers, self._name = servers, name

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model now served under this name. Raises `Unavailable`, `ModelError`."""
        return self._servers.find(self._matches, f"the cross-encoder {self._name!r}").fingerprint

    def score(self, query: str, passages: Sequence[str]) -> Vectors:
        """Shape (n,), in input order; a logit, higher is better."""
        return self.score_within(query, passages, SCORE_SECONDS)

    def score_within(self, query: str, passages: Sequence[str], seconds: float) -> Vectors:
        """As `score`, with a time limit that is passed on to the server. Raises `TimedOut` when it is exceeded."""
        if not passages:
            return np.zeros(0, dtype=np.float32)
        until = time.monotonic() + seconds

        def send(server: Server, model: ServedModel) -> Vectors:
            text = prepare([query], model)[0]
            return np.concatenate([rerank(server, model, text, batch, until) for batch in batches(passages, model)])

        return self._servers.call(self._matches, f"the cross-encoder {self._name!r}", send, until)

    def _matches(self, model: ServedModel) -> bool:
        return model.kind == "cross-encoder" and model.name == self._name
