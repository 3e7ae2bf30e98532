"""The collections of an installation: their kinds, tuned weights and document stores."""

from __future__ import annotations

import difflib
import re
import threading
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from mappings import collection as kinds
from mappings.clinical.concepts import load_concepts
from mappings.clinical.reading import ConceptReader, shipped_reader
from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.catalog import CatalogEntry
from search.engines.opened import Engines
from search.settings import Settings
from search.storage import DocumentStore, StoredDocument

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Collections:
    """Collections by name, as the engine's catalog lists them; threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engines: Engines | None = None
        self._loaded: dict[str, tuple[CatalogEntry, Collection]] = {}
        self._stores: dict[str, tuple[str, DocumentStore]] = {}
        self._admitted: set[str] = set()
        self._reader: ConceptReader | None = None
        self.lists_names = True
        """Whether errors may name other collections.

        A gateway's may not, or a collection that vanishes during a request would reveal the others.
        """
        self._lock = threading.RLock()

    def attach(self, engines: Engines) -> None:
        """Use the catalog and the stores of `engines`, which themselves read collections from here."""
        self._engines = engines

    @property
    def engines(self) -> Engines:
        """What was attached."""
        if self._engines is None:
            raise RuntimeError("no engines are attached to these collections")
        return self._engines

    def names(self) -> list[str]:
        """All collections, without those that are being deleted or that a rename is still filling."""
        return list(self.engines.catalog.names())

    def create(self, name: str, kind: str | None = None, invented: bool = False) -> Collection:
        """Create a collection of a kind (by default of its own name); repeating it with the same kind changes nothing.

        Raises `InvalidInput` for an invalid name or an unknown kind, `Conflict` if it exists with another kind, or its
        documents are invented and these are not, or it is being deleted.
        """
        created = kinds.load(check_name(name), kind, self._settings.collections)
        present = self.engines.catalog.read(name)
        if present is None:
            self.engines.catalog.add(name, CatalogEntry(created.kind, invented=invented))
        else:
            _check_same(name, present, created.kind, invented)
        return self.get(name)

    def get(self, name: str) -> Collection:
        """A collection with its settings and tuned weights. Raises `NotFound`, also for one that is hidden."""
        entry = self._entry(name)
        loaded = self._loaded.get(name)
        if loaded is None or loaded[0] != entry:
            collection = _with_tuned(kinds.load(name, entry.kind, self._settings.collections), entry.tuned)
            loaded = self._loaded[name] = (entry, replace(collection, invented=entry.invented))
        return loaded[1]

    def _entry(self, name: str) -> CatalogEntry:
        entry = self.engines.catalog.read(check_name(name))
        if entry is None or (entry.phase and name not in self._admitted):
            raise self.unknown(name)
        return entry

    def unknown(self, name: str) -> NotFound:
        """The error for a collection that does not exist; it suggests the nearest name, where `lists_names`."""
        if not self.lists_names:
            return NotFound(f"there is no collection {name!r}", field="collection")
        names = self.names()
        near = difflib.get_close_matches(name, names, 1)
        meant = f" did you mean {near[0]!r}?" if near else f" there are: {', '.join(names) or 'none yet'}"
        return NotFound(f"there is no collection {name!r};{meant}", field="collection")

    def admit(self, name: str) -> None:
        """Let this process use a hidden collection, which it is removing or filling."""
        self._admitted.add(name)

    def forget(self, name: str) -> None:
        """Forget what this process knows about a collection that was removed, its store included."""
        with self._lock:
            self._stores.pop(name, None)
            self._loaded.pop(name, None)
            self._admitted.discard(name)

    def tune(self, name: str, weights: str) -> str:
        """Store measured weights (TOML) of a collection; returns where they are kept."""
        return self.engines.catalog.tune(name, weights)

    def store(self, name: str) -> DocumentStore:
        """The durable documents of a collection. Raises `NotFound`."""
        found = self._entry(name).id
        with self._lock:
            if name not in self._stores or self._stores[name][0] != found:  # another process made the collection anew
                self._stores[name] = (found, self.engines.store(name))
            return self._stores[name][1]

    def reader(self, name: str) -> ConceptReader | None:
        """What reads the documents of a collection; None if its kind says that they are not read."""
        return self.reader_of(self.get(name))

    def reader_of(self, collection: Collection) -> ConceptReader | None:
        """As `reader`. Raises `InvalidInput` for a lexicon of the user's that is not valid."""
        if not collection.concepts:
            return None
        with self._lock:
            if self._reader is None:
                own = _own_lexicons(self._settings.lexicons)
                self._reader = ConceptReader(load_concepts(*own)) if own else shipped_reader()
            return self._reader

    def close(self) -> None:
        """Make the files of the stores that this process has used complete; an error in one does not affect the others."""
        with self._lock:
            stores = [store for _, store in self._stores.values()]
        for store in stores:
            with suppress(MedleyError):
                store.close()

    def document(self, name: str, identifier: str, access: Access) -> StoredDocument:
        """The newest version of a document. Raises `NotFound` alike for an unknown, a deleted and a forbidden one.

        Raises `Damaged` for one that can't be read, where the index says that the caller may see it.
        """
        stored = self.store(name).latest([identifier]).get(identifier)
        if stored is not None and stored.damage and not self._may_see(name, identifier, access):
            stored = None  # its labels are lost
        if stored is None or stored.document is None or not access.may_see(stored.document.labels):
            raise NotFound(f"there is no document {identifier[:200]!r} in {name!r} that you may see", field="id")
        return stored

    def _may_see(self, name: str, identifier: str, access: Access) -> bool:
        """Whether the caller may see a document according to the published index."""
        engine = self.engines.engine
        index = None if access.everything else engine.published(name)
        return access.everything or (index is not None and identifier in engine.fields(index, [identifier], access))


def check_name(name: str) -> str:
    """`name`, if it is a valid collection name. Raises `InvalidInput`."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:80]!r} is not a valid collection name: use 1 to 63 lower-case letters, digits, '-' and '_'",
            field="collection",
        )
    return name


def _check_same(name: str, present: CatalogEntry, kind: str, invented: bool) -> None:
    """Raise `Conflict` unless the collection that is there is the one that is to be created."""
    if present.phase:
        command = f"rename {present.origin} {name}" if present.phase == "arriving" else f"delete {name}"
        raise Conflict(
            f"the collection {name!r} is being deleted or renamed: wait, or finish it with `medley collection {command}`",
            field="collection",
        )
    if present.kind != kind:
        raise Conflict(f"the collection {name!r} already exists, of kind {present.kind!r}", field="collection")
    if present.invented != invented:
        has = "invented documents" if present.invented else "documents that are not invented"
        raise Conflict(f"the collection {name!r} already exists, with {has}: choose another name", field="collection")


def _with_tuned(collection: Collection, weights: str) -> Collection:
    """The collection with the weights that `medley tune` measured, if any."""
    if not weights:
        return collection
    try:
        return kinds.with_tuned_weights(collection, tomllib.loads(weights))
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the weights of {collection.name!r} (tuned.toml) are not what `medley tune` writes: {error}",
            field="tuned.toml",
        ) from error


def _own_lexicons(folder: Path | None) -> list[Path]:
    """The user's lexicons in order of their names. Raises `InvalidInput` for a folder that does not exist."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise InvalidInput(f"the folder of lexicons {folder} does not exist", field="lexicons")
    return sorted(folder.glob("*.tsv"))
