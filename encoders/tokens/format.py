"""What an index says of the token vectors that it stores: whose they are, and how they are compressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """The fingerprint of a poly-encoder, the length of its token vectors, and the name of the codec."""

    fingerprint: str
    dimension: int
    codec: str


class TokenEncoder(Protocol):
    """Turns passages into what an index stores of their token vectors."""

    @property
    def format(self) -> TokenFormat:
        """Token vectors of another format can't be read by this encoder's model."""
        ...

    def compress_passages(self, texts: Sequence[str]) -> list[bytes]:
        """The compressed token vectors of each text, in input order."""
        ...


class TokenReader(Protocol):
    """Scores texts against a query; see `search.protocols.Reranker`."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the scores."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n,), in input order."""
        ...


@runtime_checkable
class ReadsStoredTokens(Protocol):
    """A reranker that need not read a text whose token vectors are stored: the same scores, faster."""

    @property
    def format(self) -> TokenFormat:
        """What is stored must have this format."""
        ...

    def over(self, stored: Mapping[str, bytes]) -> TokenReader:
        """This reranker with the compressed token vectors of some texts, for one search."""
        ...
