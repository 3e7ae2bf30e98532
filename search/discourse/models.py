"""The interface of models that read a document as a whole, beside those that read one window at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from encoders.discourse.encoder import DiscourseDocument
from search.protocols import Encoder, Vectors


@runtime_checkable
class WholeDocumentEncoder(Protocol):
    """Gives each passage one vector that depends on its whole document, and a query of two slots a vector beside them.

    The inner product of both is the mean, over the passage's sentences, of their cosines with the query.
    """

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector: an entity's half, then an aspect's."""
        ...

    def encode_documents(self, documents: Sequence[Sequence[str]]) -> list[DiscourseDocument]:
        """Each document, a sequence of passages in order, read once as a whole."""
        ...

    def encode_query(self, entity: str, aspect: str) -> Vectors:
        """The unit vector of a query, shape (d,); the half of an empty slot is zero."""
        ...


IndexEncoder: TypeAlias = Encoder | WholeDocumentEncoder
"""What fills a vector field of an index."""
