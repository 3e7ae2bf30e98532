"""What an index says of the token vectors that it stores: whose they are, and how they are compressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
