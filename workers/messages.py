"""The content of a queue message: the index target, and the ids of some of its documents."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import orjson

from mappings.errors import NotFound
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


def is_of(target: str, collection: str) -> bool:
    """Whether the text of a target names a collection, or an index of it."""
    with suppress(NotFound):
        return QueueTarget.parse(target).collection == collection
    return False


def first_argument(message: str) -> str:
    """The first argument of the task in a message as Celery writes it: a target or a collection; empty if there is none."""
    with suppress(ValueError, LookupError, TypeError):
        return str(orjson.loads(base64.b64decode(orjson.loads(message)["body"]))[0][0])
    return ""


def split_ids(ids: Iterable[str], size: int) -> list[list[str]]:
    """Split ids into lists of at most `size`."""
    names = list(ids)
    return [names[start : start + size] for start in range(0, len(names), size)]
