"""The embedded engine: searches and manages indexes in a folder, without a server.

Any number of processes can read; each sees the commits of the one that writes. A pointer file names the published index.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from encoders.tokens.format import TokenFormat
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.documents import Access, FieldValue, Passage
from mappings.errors import Conflict, Damaged, NotFound, Unavailable
from search.engines.administration import FileProblem, IndexWriter
from search.engines.embedded import generations
from search.engines.embedded.creation import check_still_there, create_folder
from search.engines.embedded.integrity.files import Intact, find_problems
from search.engines.embedded.layout import collection_folder, exclusive, index_folder, translate_errors
from search.engines.embedded.queries import TantivyQueryCompiler
from search.engines.embedded.reader import IndexReader, unreadable
from search.engines.embedded.schema import EmbeddedIndexDescription, deleted_passages
from search.engines.embedded.slots.reader import written_slots
from search.engines.embedded.snapshot import Snapshot
from search.engines.embedded.writer import lock_all, locked_for_writing, open_writer
from search.engines.names import index_name, is_collection, split_index
from search.engines.values import drift as describe_drift
from search.protocols import IndexMeta, LegsAnswer, LegsRequest, PatientsAnswer, PatientsRequest, Vectors
from search.query import Phrase


class EmbeddedEngine:
    """A `SearchEngine` and `IndexAdmin` over `<home>/collections/`. Thread-safe."""

    def __init__(self, home: Path, collection: Callable[[str], Collection]) -> None:
        self._home = home
        self._collection = collection
        self._readers: dict[str, IndexReader] = {}
        self._intact: dict[str, Intact] = {}
        self._lock = threading.Lock()

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of `collection`. Raises `NotFound` if there is none, `Unavailable` if its files are missing."""
        folder = collection_folder(self._home, collection)
        index = generations.pointer(folder, collection)
        if index is None:
            raise NotFound(
                f"collection {collection!r} has no index yet: ingest documents into it, or run `medley index rebuild "
                f"{collection}` where its store has some",
                field="collection",
            )
        try:
            return self.meta(index)
        except NotFound:
            if generations.pointer(folder, collection) != index:  # another one was published, and this one dropped
                return self.resolve(collection)
            raise Unavailable(
                f"the published index {index} is missing on the disk: run `medley index rebuild {collection}`",
                field="collection",
            ) from None

    def meta(self, index: str) -> IndexMeta:
        """The description and counts of any index at its newest commit; an open one is checked for that with one `stat`."""
        with self._open(index) as snapshot:
            return snapshot.meta

    def legs(self, request: LegsRequest) -> LegsAnswer:
        """All rankings, the total and the facets of one commit."""
        with self._open(request.index) as snapshot:
            return snapshot.legs(request, self._compiler(snapshot))

    def passages(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, Passage]:
        """The passages that exist and that the caller may see; the others are absent from the result."""
        with self._open(index) as snapshot:
            return snapshot.passages(ids, access)

    def tokens(self, index: str, ids: Sequence[str], access: Access) -> Mapping[str, bytes]:
        """The compressed token vectors of the passages that have some, and that the caller may see."""
        with self._open(index) as snapshot:
            return snapshot.tokens.find(ids, access)

    def fields(self, index: str, documents: Sequence[str], access: Access) -> Mapping[str, Mapping[str, FieldValue]]:
        """The fields of the documents that exist and that the caller may see."""
        with self._open(index) as snapshot:
            return snapshot.fields(documents, access)

    def has_visible(self, index: str, access: Access) -> bool:
        """Whether the index has any document that the caller may see."""
        with self._open(index) as snapshot:
            return snapshot.has_visible(access)

    def proofs(
        self, index: str, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase] = ()
    ) -> Mapping[str, Sequence[Passage]]:
        """Document -> its passages that assert one of `keys` or have one of `phrases`, in order."""
        with self._open(index) as snapshot:
            return snapshot.proofs(documents, keys, access, phrases)

    def patients(self, request: PatientsRequest) -> PatientsAnswer:
        """The patients who meet criteria, counted and paged, of one commit."""
        with self._open(request.index) as snapshot:
            return snapshot.patients.find(request)

    def values(self, index: str, field: str, access: Access, withheld: Sequence[str] = ()) -> Mapping[str, int]:
        """Value of a field -> how many documents that the caller may see have it."""
        with self._open(index) as snapshot:
            return snapshot.values(field, access, withheld)

    def create(
        self,
        collection: str,
        encoders: Mapping[str, tuple[str, int]],
        above: int = 0,
        reading: str = "",
        tokens: TokenFormat | None = None,
    ) -> IndexMeta:
        """Create an empty index generation, not yet published.

        Its number is higher than `above`, and never reused, even after the index is dropped.
        """
        settings = self._collection(collection)
        folder = collection_folder(self._home, collection)
        with translate_errors(f"collection {collection}: could not create an index"):
            (folder / "indexes").mkdir(parents=True, exist_ok=True)
            with self._admin_lock(collection):
                check_still_there(folder, lambda: self._collection(collection))
                generations.remove_leftovers(folder / "indexes")
                generation = generations.next_number(folder, above)
                name = index_name(collection, generation)
                made = (name, collection, generation, dict(encoders), ANALYSIS_VERSION)
                own = (settings.index_fields, settings.window_words, reading, tokens)
                create_folder(folder / "indexes" / name, EmbeddedIndexDescription(*made, *own))
        return self.meta(name)

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The only writer of an index. Raises `Conflict` while another holds it after `wait` seconds."""
        return open_writer(index_folder(self._home, index), wait)

    def publish(self, index: str, first: bool = False) -> None:
        """Publish an index by replacing the pointer file atomically.

        With `first`, does nothing if an index is already published.
        """
        collection, _ = split_index(index)
        with self._admin_lock(collection), translate_errors(f"could not publish index {index}"):
            EmbeddedIndexDescription.load(index_folder(self._home, index))
            if first and self.published(collection) in self.names(collection):
                return
            generations.point_to(collection_folder(self._home, collection), index)

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index. Raises `Conflict` if it is published, or still being written after `wait` seconds.

        Searches in progress keep the files they have mapped; later ones raise `NotFound`.
        """
        collection, _ = split_index(index)
        folder = index_folder(self._home, index)
        dropped = folder.with_name(f".dropped-{index}")
        with locked_for_writing(folder, wait), self._admin_lock(collection):
            if self.published(collection) == index:
                raise Conflict(f"index {index} is published: publish another one first", field="index")
            os.rename(folder, dropped)
        shutil.rmtree(dropped, ignore_errors=True)
        self._forget(index)

    def exclusive(self, collection: str, wait: float = 0.0) -> AbstractContextManager[None]:
        """Exclude writers of a collection's indexes, and its administration. Raises `Conflict` after `wait` seconds."""
        folder = collection_folder(self._home, collection) / "indexes"
        return lock_all(folder, lambda: self.names(collection), self._admin_lock(collection), wait)

    def remove(self, collection: str) -> None:
        """Remove every index of a collection; see `IndexAdmin.remove`. Searches in progress keep what they have mapped."""
        folder = collection_folder(self._home, collection)
        with translate_errors(f"the indexes of {collection} could not be removed"):
            for index in self.names(collection):
                os.rename(folder / "indexes" / index, folder / "indexes" / f".dropped-{index}")
                self._forget(index)
            generations.remove_leftovers(folder / "indexes")

    def _forget(self, index: str) -> None:
        with self._lock:
            self._readers.pop(index, None)
            self._intact.pop(index, None)

    def published(self, collection: str) -> str | None:
        """The published index of `collection`, readable or not; None before the first publication. Raises `Damaged`.

        None as well where its files are missing, as on a cluster: everything is pending for the next index then.
        """
        folder = collection_folder(self._home, collection)
        index = generations.pointer(folder, collection)
        while index is not None and not (index_folder(self._home, index) / "index.json").exists():
            missing, index = index, generations.pointer(folder, collection)
            if index == missing:
                return None
        return index

    def names(self, collection: str) -> Sequence[str]:
        """The names of all indexes, readable or not, in order of generation."""
        return generations.names(collection_folder(self._home, collection))

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every readable index, in order of collection and generation, and whether it is the published one."""
        folders = (self._home / "collections").glob("*")
        known = sorted(item.name for item in folders if is_collection(item.name) and item.is_dir())
        found: list[tuple[IndexMeta, bool]] = []
        for name in known if collection is None else [collection]:
            published = self.published(name)
            for index in generations.names(collection_folder(self._home, name)):
                # An index can have been dropped in the meantime, have another format, or be damaged.
                with suppress(NotFound, Conflict, Unavailable):
                    found.append((self.meta(index), index == published))
        return found

    def _compiler(self, snapshot: Snapshot) -> TantivyQueryCompiler:
        collection = self._collection(snapshot.description.collection)
        return snapshot.compiler({"title": collection.title_boost, "heading": collection.heading_boost})

    @contextmanager
    def _open(self, index: str) -> Iterator[Snapshot]:
        snapshot = self._snapshot(index)
        with translate_errors(unreadable(index)):
            yield snapshot

    def _snapshot(self, index: str) -> Snapshot:
        with self._lock:
            reader = self._readers.get(index)
            if reader is None:
                # A reader keeps the files of a dropped index on disk; opening a new index releases them.
                self._readers = {name: kept for name, kept in self._readers.items() if kept.exists}
                reader = self._readers[index] = IndexReader(index_folder(self._home, index))
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
        """(document, version, passages) of every version in the index."""
        with self._open(index) as snapshot:
            return snapshot.contents()

    def drift(self, index: str) -> Sequence[str]:
        """How the index differs from its collection's current settings."""
        with self._open(index) as snapshot:
            made = snapshot.description
        settings = self._collection(made.collection)
        return describe_drift(made.fields, made.windows, settings)

    def file_problems(self, index: str, again: bool = True) -> Sequence[FileProblem]:
        """What is wrong with the files of an index; without `again`, leaves out what was found intact before."""
        folder = index_folder(self._home, index)
        if not folder.is_dir():
            raise NotFound(f"there is no index {index!r}", field="index")
        with translate_errors(f"could not check the files of index {index}"):
            found = find_problems(folder, None if again else self._intact.setdefault(index, set()))
        try:
            generations.last_number(collection_folder(self._home, split_index(index)[0]))
        except Damaged as error:
            found.append(FileProblem(error.message, is_damage=False))  # of no index
        return found

    def dead(self, index: str) -> int:
        """How many vectors of replaced or removed passages a search still reads."""
        with self._open(index) as snapshot:
            return snapshot.dead

    def erase(self, index: str) -> bool:
        """Whether the files of an index hold only what a search can find, after what kills left of others was removed.

        Replaced and deleted passages stay in the files of an index for good: its segments and slots are never rewritten.
        """
        folder, (collection, _) = index_folder(self._home, index), split_index(index)
        with self._admin_lock(collection):
            generations.remove_leftovers(folder.parent)
        with self._open(index) as snapshot:
            rows = snapshot.meta.rows
        with translate_errors(f"could not read index {index}"):
            return written_slots(folder) == rows and not deleted_passages(folder)

    @contextmanager
    def _admin_lock(self, collection: str) -> Iterator[None]:
        folder = collection_folder(self._home, collection)
        if not folder.is_dir():
            raise NotFound(f"there is no collection {collection!r}", field="collection")
        with exclusive(folder / "admin.lock", f"the administration lock of {collection}", wait=30.0):
            yield
