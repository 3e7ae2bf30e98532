"""The interfaces of encoders and rerankers: what searching and indexing know of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Encoder(Protocol):
    """Encodes texts as unit vectors; queries and passages have separate methods."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the vectors: weights, tokenizer, pooling, templates."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, d), unit rows, in input order."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, d), unit rows, in input order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against a query; the caller sorts and truncates."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the scores."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n,), in input order; a logit, higher is better."""
        ...
