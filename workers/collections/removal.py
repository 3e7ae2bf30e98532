"""Deletes a collection with everything that belongs to it, on either engine.

Each step can be repeated after a kill. First nothing more is accepted, then the collection is hidden from every process;
its indexes go, then its store and its settings, and last its entry in the catalog. Until then the same call continues.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from mappings.errors import Conflict, Damaged, InvalidInput, NotFound
from search.bootstrap import Medley
from search.catalog import CatalogEntry
from search.collections import check_name
from workers.indexing.purge import clear_vector_cache

WAIT_SECONDS: Final = 30.0
"""How long to wait for a writer of the collection: a worker holds it for one commit, a rebuild until it is finished."""


@dataclass(frozen=True, slots=True)
class RemovedCollection:
    """What was removed: the collection's kind, its documents where they could be counted, and its indexes."""

    kind: str
    documents: int | None
    indexes: tuple[str, ...]


def find_removable(medley: Medley, name: str) -> CatalogEntry:
    """The entry of a collection that can be deleted, hidden or not.

    Raises `InvalidInput` for an invalid name, `NotFound`, and `Conflict` while it is being renamed.
    """
    catalog = medley.engines.catalog
    entry = catalog.read(check_name(name))
    if entry is None:
        raise medley.collections.unknown(name)
    if entry.phase != "leaving":
        for other in catalog.hidden():
            found = catalog.read(other)
            if found is not None and (found.phase, found.origin) == ("arriving", name):
                raise Conflict(
                    f"{name!r} is being renamed to {other!r}: finish that with `medley collection rename {name} {other}`, "
                    f"or give it up with `medley collection delete {other}`",
                    field="collection",
                )
    return entry


def remove_collection(medley: Medley, name: str, wait: float = WAIT_SECONDS) -> RemovedCollection:
    """Delete a collection: documents, indexes, jobs, weights, what users keep for it, and this machine's cached vectors.

    What was begun and interrupted is continued. Raises the errors of `find_removable`, and `Conflict` while another process
    writes an index of it after `wait` seconds; then nothing is changed.
    """
    find_removable(medley, name)
    medley.collections.admit(name)
    with medley.engine.exclusive(name, wait):
        entry = find_removable(medley, name)  # again: others can have changed it while this call waited
        documents = _seal(medley, name)
        if entry.phase == "arriving" and entry.origin:  # a rename that is given up
            with suppress(NotFound):
                medley.collections.store(entry.origin).seal(False)
        return RemovedCollection(entry.kind, documents, take_away(medley, name, entry))


def take_away(medley: Medley, name: str, entry: CatalogEntry) -> tuple[str, ...]:
    """Hide a collection whose store is sealed, and remove it; its indexes. The caller excludes writers.

    What users keep for it goes with it, or moves to the collection that a rename has made from it.
    """
    catalog = medley.engines.catalog
    indexes = tuple(medley.engine.names(name))
    catalog.add(name, replace(entry, phase="leaving"))
    time.sleep(2 * catalog.fresh_seconds)  # until no process takes it for one that exists
    if heir := _find_heir(medley, name, entry):
        medley.kept.move_collection(name, heir)
    else:
        medley.kept.remove_collection(name)
    medley.engine.remove(name)
    catalog.remove(name)
    medley.collections.forget(name)
    clear_vector_cache(medley.settings.home)
    return indexes


def _find_heir(medley: Medley, name: str, entry: CatalogEntry) -> str:
    """The complete collection that a rename has made from this one; empty where there is none."""
    for other in medley.engines.catalog.names():
        found = medley.engines.catalog.read(other)
        if found is not None and entry.id and (found.origin, found.origin_id) == (name, entry.id):
            return other
    return ""


def _seal(medley: Medley, name: str) -> int | None:
    """Let nothing more be accepted; how many documents there are. None where the store can't be opened at all."""
    # Then nothing can be accepted either: its kind is unknown, or its file is damaged.
    with suppress(NotFound, InvalidInput, Damaged):
        store = medley.collections.store(name)
        store.seal()
        return store.counts("").documents
    return None
