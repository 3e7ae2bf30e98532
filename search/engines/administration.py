"""The interface by which indexes are created, filled, published and dropped; `tests/contracts/` checks every engine against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from encoders.tokens.format import TokenFormat
from mappings.documents import Passage
from search.protocols import IndexEntry, IndexMeta, SearchEngine, Vectors


class IndexWriter(Protocol):
    """Writes one index. Nothing is visible before `commit`, which makes everything visible at once."""

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Replace every earlier version of each entry's document."""
        ...

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        ...

    def commit(self) -> Mapping[str, str]:
        """Make all writes durable and visible.

        Returns the documents that the index rejected, each with the cause: the index contains no version of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something wrong with the files of an index; without `is_damage`, they can't be checked."""

    text: str
    is_damage: bool = True


class IndexAdmin(Protocol):
    """Creates, publishes and drops the indexes of collections."""

    def create(
        self,
        collection: str,
        encoders: Mapping[str, tuple[str, int]],
        above: int = 0,
        reading: str = "",
        tokens: TokenFormat | None = None,
    ) -> IndexMeta:
        """Create an empty index generation, not yet published; `encoders`: vector field -> (fingerprint, dimension).

        Its number is higher than `above`, and was never used before. `reading` is the version of what reads its documents,
        `tokens` whose token vectors it will store, if any.
        """
        ...

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The only writer of an index. Raises `Conflict` while another holds it after `wait` seconds."""
        ...

    def publish(self, index: str, first: bool = False) -> None:
        """Publish an index atomically: searches of its collection use it from now on.

        With `first`, does nothing if an index is already published; if several processes call it at once, one publishes.
        """
        ...

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index. Raises `Conflict` if it is published, or still being written after `wait` seconds."""
        ...

    def published(self, collection: str) -> str | None:
        """The published index of `collection`, readable or not; None before the first publication."""
        ...

    def names(self, collection: str) -> Sequence[str]:
        """The names of all indexes, readable or not, in order of generation."""
        ...

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every readable index, and whether it is the published one."""
        ...

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, shape (rows, d), for passages that are unchanged in the index.

        Used to build another index. It returns no text, so it takes no access.
        """
        ...

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version in the index, unordered.

        A document with two versions is an error in the index.
        """
        ...

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from its collection's current settings, in plain words."""
        ...

    def file_problems(self, index: str, again: bool = True) -> Sequence[FileProblem]:
        """What is wrong with the files of an index, compared with their checksums; reads all of them.

        Without `again`, leaves out what this process found intact before. None for engines that check files themselves.
        """
        ...

    def dead(self, index: str) -> int:
        """How many vectors of replaced or removed passages a search still reads.

        0 for engines that remove them by themselves.
        """
        ...

    def erase(self, index: str) -> bool:
        """Clear the files of an index of what replaced and removed documents leave in them.

        False where they still hold some: then only a rebuild does it.
        """
        ...

    def exclusive(self, collection: str, wait: float = 0.0) -> AbstractContextManager[None]:
        """Exclude all writers of a collection's indexes, new indexes and publications. Raises `Conflict` after `wait` seconds."""
        ...

    def remove(self, collection: str) -> None:
        """Remove every index of a collection, the published one too. The caller holds `exclusive`."""
        ...


class Engine(SearchEngine, IndexAdmin, Protocol):
    """Searches indexes, and creates, fills, publishes and drops them."""
