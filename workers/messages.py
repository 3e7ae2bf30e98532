"""What a message of the queue carries: the target that documents are to be indexed in, and a slice of their ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from search.engines.names import split_index

MESSAGE_IDS: Final = 512
"""Ids in one message: a few batches of an encoder, and few enough to be done again when a worker dies."""

_INDEX: Final = "index:"


@dataclass(frozen=True, slots=True)
class QueueTarget:
    """Where documents are to be indexed: in a collection's published index, or in the `index` that is being built."""

    collection: str
    index: str | None = None

    @classmethod
    def parse(cls, text: str) -> QueueTarget:
        """The target of a message. Raises `NotFound` for what can name no index."""
        if not text.startswith(_INDEX):
            return cls(text)
        index = text.removeprefix(_INDEX)
        return cls(split_index(index)[0], index)

    def encode(self) -> str:
        """As it is written in messages and in Redis' keys; messages under way during an upgrade depend on it."""
        return self.collection if self.index is None else f"{_INDEX}{self.index}"

    def __str__(self) -> str:
        return self.encode()


def split_ids(ids: Iterable[str], size: int) -> list[list[str]]:
    """Ids in lists of at most `size`."""
    names = list(ids)
    return [names[start : start + size] for start in range(0, len(names), size)]
