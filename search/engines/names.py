"""The names of collections, and of their indexes, on every engine: `<collection>-<generation>`."""

from __future__ import annotations

import re
from typing import Final

from mappings.errors import InvalidInput, NotFound

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def check_collection(collection: str) -> str:
    """`collection`, if it is a valid name. Raises `InvalidInput`."""
    if not _NAME.fullmatch(collection):
        raise InvalidInput(
            f"{collection[:80]!r} is not a valid collection name: letters, digits, '_' and '-', at most 100",
            field="collection",
        )
    return collection


def is_collection(name: str) -> bool:
    """Whether a collection can have this name: a folder beside those of collections may have another."""
    return _NAME.fullmatch(name) is not None


def index_name(collection: str, generation: int) -> str:
    """The name of one generation of a collection's index."""
    return f"{collection}-{generation}"


def split_index(index: str) -> tuple[str, int]:
    """(collection, generation) of an index name. Raises `NotFound` for an invalid one, since no such index can exist."""
    collection, _, generation = index.rpartition("-")
    if not (_NAME.fullmatch(collection) and generation.isascii() and generation.isdigit()):
        raise NotFound(f"there is no index {index[:120]!r}", field="index")
    return collection, int(generation)
