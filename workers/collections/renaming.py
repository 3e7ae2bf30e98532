"""Renames a collection, on either engine: it is copied under the new name, then the old one is deleted.

The names of a collection are inside its indexes, states and jobs, and no engine can rename those. So its documents are
copied, with their version numbers, and its index is written anew with the vectors of the old one: nothing is encoded
again. Searches go on under the old name until the new collection is complete; deliveries are refused meanwhile. Each step
can be repeated after a kill, and is, when the same call is made again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

from mappings.errors import Conflict, InvalidInput
from search.bootstrap import Medley
from search.catalog import CatalogEntry
from search.collections import check_name
from search.protocols import IndexMeta
from workers.collections.removal import WAIT_SECONDS, find_removable, take_away
from workers.copying import CopiedDocuments, CountedVersions
from workers.indexing.filling import fill
from workers.indexing.indexer import Indexer, find_encoders
from workers.indexing.inspection import verify
from workers.indexing.rebuild import drop_unused, find_known_vectors

_ATTEMPTS: Final = 3


def check_rename(medley: Medley, name: str, target: str) -> None:
    """Raise unless the collection `name` can be renamed to `target`.

    `InvalidInput` for an invalid name, or twice the same; `NotFound`; `Conflict` if `target` exists, unless it is what an
    interrupted rename of the same collection has left.
    """
    check_name(name)
    if name == check_name(target):
        raise InvalidInput(f"the collection is called {name!r} already", field="collection")
    found, there = medley.engines.catalog.read(name), medley.engines.catalog.read(target)
    if there is not None and _is_continued(name, found, there):
        return
    if found is None:
        raise medley.collections.unknown(name)
    if there is not None:
        raise Conflict(f"the collection {target!r} exists: choose another name, or delete it first", field="collection")
    if found.phase:
        raise Conflict(f"the collection {name!r} is being deleted or renamed itself", field="collection")
    find_removable(medley, name)


def _is_continued(name: str, found: CatalogEntry | None, there: CatalogEntry) -> bool:
    """Whether an interrupted rename of this very collection, not of a later one of its name, has made what is there."""
    return there.origin == name and (found is None or found.id == there.origin_id)


def rename_collection(
    medley: Medley, name: str, target: str, on_progress: CopiedDocuments, wait: float = WAIT_SECONDS
) -> IndexMeta | None:
    """Rename a collection; its new index, None if it had none.

    Replaced versions, and what was purged, are not copied. Raises the errors of `check_rename`, `ModelError` if an encoder of
    its index is not available, and `Conflict` while another process writes an index of it after `wait` seconds.
    """
    check_rename(medley, name, target)
    catalog = medley.engines.catalog
    medley.collections.admit(name)
    medley.collections.admit(target)
    if catalog.read(name) is not None:
        with medley.engine.exclusive(name, wait):
            check_rename(medley, name, target)  # again: others can have changed either one while this call waited
            entry = _with_id(medley, name)
            there = catalog.read(target) or _begin(medley, entry, name, target)
            if there.phase:
                _copy(medley, name, target, on_progress)
                catalog.add(target, replace(there, phase=""))
            take_away(medley, name, entry)
    made = catalog.read(target)
    if made is not None:
        catalog.add(target, replace(made, phase="", origin="", origin_id=""))
    published = medley.engine.published(target)
    return medley.engine.meta(published) if published else None


def _with_id(medley: Medley, name: str) -> CatalogEntry:
    """The entry of the old collection; one of an earlier version gets an id, by which an interrupted rename knows it again."""
    catalog = medley.engines.catalog
    entry = catalog.read(name)
    if entry is not None and not entry.id:
        catalog.add(name, entry)
        entry = catalog.read(name)
    if entry is None:
        raise medley.collections.unknown(name)
    return entry


def _begin(medley: Medley, entry: CatalogEntry, name: str, target: str) -> CatalogEntry:
    """The entry of the new collection, hidden until it is complete."""
    catalog = medley.engines.catalog
    begun = CatalogEntry(entry.kind, "", entry.invented, phase="arriving", origin=name, origin_id=entry.id)
    catalog.add(target, begun)
    if entry.tuned:
        catalog.tune(target, entry.tuned)
    made = catalog.read(target)
    if made is None:
        raise Conflict(f"the collection {target!r} was deleted meanwhile", field="collection")
    return made


def _copy(medley: Medley, name: str, target: str, on_progress: CopiedDocuments) -> None:
    """Fill the new collection; what an interrupted call has copied stays."""
    source, copy = medley.collections.store(name), medley.collections.store(target)
    source.seal()
    versions = CountedVersions(source.export(), on_progress)
    copy.restore(replace(item, job=_moved(item.job, name, target)) for item in versions)
    for identifier in sorted(versions.jobs):
        if job := source.job(identifier):
            copy.keep_job(replace(job, id=_moved(identifier, name, target)))
    published = medley.engine.published(name)
    if published is not None:
        _index(medley, medley.engine.meta(published), target, on_progress)


def _moved(job: str, name: str, target: str) -> str:
    """The id of a job under the new name: it begins with the name of its collection."""
    return f"{target}{job.removeprefix(name)}" if job.startswith(f"{name}.") else job


def _index(medley: Medley, old: IndexMeta, target: str, on_progress: CopiedDocuments) -> None:
    """Write and publish the index of the new collection, with the vectors of the old one."""
    indexer = Indexer.of(medley, target, encoders={})
    indexer = replace(indexer, encoders=find_encoders(indexer, old))
    drop_unused(indexer)
    if indexer.engine.published(target) is not None:
        return
    meta = indexer.create()
    known = find_known_vectors(indexer, meta, old)
    with indexer.engine.writer(meta.index) as writer:
        problems: Sequence[str] = ()
        for _ in range(_ATTEMPTS):
            for _ in fill(indexer, meta, None, known, lambda: nullcontext(writer)):
                on_progress(1)
            problems = verify(indexer, meta.index)
            if not problems:
                break
            time.sleep(1.0)  # counts on a cluster can be a second old
    if problems:
        raise Conflict(f"the index {meta.index} is not complete: {'; '.join(problems)}", field="index")
    indexer.engine.publish(meta.index)
