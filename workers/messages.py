"""The content of a queue message: the index target, and the ids of some of its documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from search.engines.names import split_index

MESSAGE_IDS: Final = 512
"""Ids per message: a few batches of an encoder, and little enough work to repeat if a worker dies."""

_INDEX: Final = "index:"


@dataclass(frozen=True, slots=True)
class QueueTarget:
    """Where documents are to be indexed: in a collection's published index, or in the `index` that is being built."""

    collection: str
    index: str | None = None

    @classmethod
    def parse(cls, text: str) -> QueueTarget:
        """Parse the target of a message. Raises `NotFound` for an invalid index name."""
        if not text.startswith(_INDEX):
            return cls(text)
        index = text.removeprefix(_INDEX)
        return cls(split_index(index)[0], index)

    def encode(self) -> str:
        """The target as text, for messages and Redis keys.

        Must not change: messages in transit during an upgrade use it.
        """
        return self.collection if self.index is None else f"{_INDEX}{self.index}"

    def __str__(self) -> str:
        return self.encode()


def split_ids(ids: Iterable[str], size: int) -> list[list[str]]:
    """Split ids into lists of at most `size`."""
    names = list(ids)
    return [names[start : start + size] for start in range(0, len(names), size)]
