"""What the benches of ingestion share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mappings.errors import InvalidInput

NAME: Final = "abstracts"
"""The collection that is filled; its kind has the same name."""


def require_indexed(outcomes: Sequence[Any], documents: Sequence[Any]) -> None:
    """Raise `InvalidInput` where a document was not indexed: the figures would then be of less work."""
    if len(outcomes) != len(documents) or any(item.cause for item in outcomes):
        raise InvalidInput("some of the bench's documents were not indexed", field="documents")
