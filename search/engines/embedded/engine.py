"""The embedded engine: search and administration of indexes that lie in a folder, with nothing to install.

Any number of processes read; each follows the commits of the one that writes. A collection answers from the
index that its pointer file names.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import orjson

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import Conflict, NotFound, Unavailable
from search.engines.embedded.layout import (
    collection_folder,
    exclusive,
    index_folder,
    sync_folder,
    translated,
    write_atomic,
)
from search.engines.embedded.queries import Compiler
from search.engines.embedded.reader import Reader
from search.engines.embedded.schema import Description, open_index
from search.engines.embedded.snapshot import Snapshot
from search.engines.embedded.writer import locked_for_writing, open_writer
from search.engines.names import index_name, split_index
from search.engines.values import drift
from search.protocols import IndexMeta, IndexWriter, LegsAnswer, LegsRequest, Vectors

_POINTER = "published.json"
_COUNTER = "generation"


class EmbeddedEngine:
    """A `SearchEngine` and `IndexAdmin` over `<home>/collections/`; safe to share between threads."""

    def __init__(self, home: Path, collection: Callable[[str], Collection]) -> None:
        self._home = home
        self._collection = collection
        self._readers: dict[str, Reader] = {}
        self._lock = threading.Lock()

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`. Raises `NotFound` before anything was published."""
        index = self.published(collection)
        if index is None:
            raise NotFound(f"collection {collection!r} has no index yet: ingest documents into it", field="collection")
        return self.meta(index)

    def meta(self, index: str) -> IndexMeta:
        """What an index, published or not, says of itself at its newest commit."""
        with self._open(index) as snapshot:
            return snapshot.meta

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets of one commit."""
        with self._open(request.index) as snapshot:
            return snapshot.legs(request, self._compiler(snapshot))

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are missing from the answer."""
        with self._open(index) as snapshot:
            return snapshot.passages(ids, access)

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        with self._open(index) as snapshot:
            return snapshot.fields(documents, access)

    def create(self, collection: str, encoders: Mapping[str, tuple[str, int]]) -> IndexMeta:
        """A new empty generation, not yet published; its number was never used before, dropped ones included."""
        kind = self._collection(collection)
        fields = {name: field.type for name, field in kind.fields.items()}
        folder = collection_folder(self._home, collection)
        with translated(f"collection {collection}: no index could be made"):
            (folder / "indexes").mkdir(parents=True, exist_ok=True)
            with self._administration(collection):
                _clear(folder / "indexes")
                generation = self._next_generation(folder)
                name = index_name(collection, generation)
                description = Description(
                    name, collection, generation, dict(encoders), ANALYSIS_VERSION, fields, kind.window_words
                )
                _build(folder / "indexes" / name, description)
        return self.meta(name)

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The one writer of an index; raises `Conflict` when another still holds it after `wait` seconds."""
        return open_writer(index_folder(self._home, index), wait)

    def publish(self, index: str, first: bool = False) -> None:
        """Let the collection answer from this index from now on: one file is replaced, in one step."""
        collection, _ = split_index(index)
        with self._administration(collection), translated(f"index {index} could not be published"):
            Description.load(index_folder(self._home, index))
            if first and self.published(collection) in self.names(collection):
                return
            pointer = collection_folder(self._home, collection) / _POINTER
            write_atomic(pointer, orjson.dumps({"index": index}))

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index; refused with `Conflict` if published, or still being written after `wait` seconds.

        Answers under way keep the files they have mapped; later ones raise `NotFound`.
        """
        collection, _ = split_index(index)
        folder = index_folder(self._home, index)
        aside = folder.with_name(f".dropped-{index}")
        with locked_for_writing(folder, wait), self._administration(collection):
            if self.published(collection) == index:
                raise Conflict(f"index {index} is published: publish another one first", field="index")
            os.rename(folder, aside)
        shutil.rmtree(aside, ignore_errors=True)
        with self._lock:
            self._readers.pop(index, None)

    def published(self, collection: str) -> str | None:
        """The name of the index that `collection` answers from, readable or not; None before anything was published."""
        try:
            content = (collection_folder(self._home, collection) / _POINTER).read_bytes()
        except FileNotFoundError:
            return None
        return str(orjson.loads(content)["index"])

    def names(self, collection: str) -> Sequence[str]:
        """Every index by name, readable or not, by generation."""
        return _indexes(collection_folder(self._home, collection))

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every index that can be read, by collection and generation, and whether it is the published one."""
        root = self._home / "collections"
        names = (
            [collection] if collection is not None else sorted(item.name for item in root.glob("*") if item.is_dir())
        )
        found: list[tuple[IndexMeta, bool]] = []
        for name in names:
            published = self.published(name)
            for index in _indexes(collection_folder(self._home, name)):
                with suppress(NotFound, Conflict, Unavailable):  # dropped meanwhile, of another form, or damaged
                    found.append((self.meta(index), index == published))
        return found

    def _compiler(self, snapshot: Snapshot) -> Compiler:
        collection = self._collection(snapshot.description.collection)
        return snapshot.compiler({"title": collection.title_boost, "heading": collection.heading_boost})

    @contextmanager
    def _open(self, index: str) -> Iterator[Snapshot]:
        snapshot = self._snapshot(index)
        with translated(f"index {index} could not be read"):
            yield snapshot

    def _snapshot(self, index: str) -> Snapshot:
        with self._lock:
            reader = self._readers.get(index)
            if reader is None:
                # A reader keeps the files of a dropped index on the disk; a rebuild is when they go.
                self._readers = {name: kept for name, kept in self._readers.items() if kept.present}
                reader = self._readers[index] = Reader(index_folder(self._home, index))
        try:
            return reader.snapshot()
        except NotFound:
            with self._lock:
                self._readers.pop(index, None)
            raise

    def vectors(self, index: str, passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        """Passage id -> vector field -> its vectors, for the passages that the index holds with the same text."""
        with self._open(index) as snapshot:
            return snapshot.vectors(passages)

    def contents(self, index: str) -> Iterator[tuple[str, int, int]]:
        """(document, version, passages) of every version that the index holds."""
        with self._open(index) as snapshot:
            return snapshot.contents()

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from what the settings of its collection would make today."""
        with self._open(index) as snapshot:
            made = snapshot.description
        wanted = self._collection(made.collection)
        return drift(made.fields, made.windows, wanted)

    def dead(self, index: str) -> int:
        """How many slots a vector search reads in vain."""
        with self._open(index) as snapshot:
            return snapshot.dead

    @contextmanager
    def _administration(self, collection: str) -> Iterator[None]:
        folder = collection_folder(self._home, collection)
        if not folder.is_dir():
            raise NotFound(f"there is no collection {collection!r} here", field="collection")
        with exclusive(folder / "admin.lock", f"the administration of {collection}", wait=30.0):
            yield

    @staticmethod
    def _next_generation(folder: Path) -> int:
        # A counter of its own: were a dropped generation's name used again, the states that documents had in it
        # would be taken for this one's.
        path = folder / _COUNTER
        known = [split_index(name)[1] for name in _indexes(folder)]
        generation = max([int(path.read_text()) if path.exists() else 0, *known]) + 1
        write_atomic(path, str(generation).encode())
        return generation


def _indexes(folder: Path) -> list[str]:
    names = [
        item.parent.name for item in (folder / "indexes").glob("*/index.json") if not item.parent.name.startswith(".")
    ]
    return sorted(names, key=lambda name: split_index(name)[1])


def _clear(folder: Path) -> None:
    """Remove what a kill left half-made or half-removed. The caller holds the administration."""
    for item in (*folder.glob(".building-*"), *folder.glob(".dropped-*")):
        shutil.rmtree(item, ignore_errors=True)


def _build(folder: Path, description: Description) -> None:
    aside = folder.with_name(f".building-{folder.name}")
    (aside / "words").mkdir(parents=True)
    open_index(aside, create=description.fields)
    description.save(aside)
    os.rename(aside, folder)
    sync_folder(folder.parent)
