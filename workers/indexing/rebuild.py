"""A rebuild as queued work: an index made aside, filled by whichever workers are there, published when it is whole.

It is resumed, not begun anew, after any kill: what is missing is a query on the store. While it goes on, documents that
arrive are indexed where searches are answered, and the sweeper brings them to the new index too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.errors import Conflict, MedleyError, ModelError, NotFound
from search.engines.names import split_index
from search.protocols import Encoder, Engine, IndexMeta
from search.storage import DocumentStore, Job
from workers.indexing.batches import Outcome, Target, Work, drain
from workers.indexing.ingest import (
    Options,
    building_job,
    check_failures,
    check_index,
    identities,
    is_building,
    known_vectors,
    readable,
    verify,
)

_log = logging.getLogger("medley.worker")
_DROP_SECONDS: Final = 60.0

GRACE_SECONDS: Final = 60.0
"""How long the old index stays for answers that are under way."""


def begin(store: DocumentStore, engine: Engine, encoders: Mapping[str, Encoder], collection: Collection) -> str:
    """The index to be filled: one that the queue is at for these encoders already, or a new one."""
    for index in building(store, engine, collection.name):
        with suppress(MedleyError):
            if _is_wanted(engine, engine.meta(index), encoders):
                return index
    index = engine.create(collection.name, identities(encoders)).index
    store.keep_job(Job(building_job(collection.name, index), time.time()))
    return index


def building(store: DocumentStore, engine: Engine, collection: str) -> list[str]:
    """The indexes of a collection that the queue fills."""
    published = engine.published(collection)
    return [name for name in engine.names(collection) if name != published and is_building(store, collection, name)]


def fill(
    store: DocumentStore,
    engine: Engine,
    index: str,
    find: Mapping[str, Encoder],
    collection: Collection,
    ids: Sequence[str],
    options: Options,
) -> Iterator[Outcome]:
    """Index `ids` in an index that is not published; `find`: vector field -> the encoder that the index was made for.

    Vectors that the published index holds for the same passage by the same encoder are taken over. Raises `NotFound` when
    the index was dropped, `ModelError` when the encoders are others.
    """
    meta = engine.meta(index)
    check_index(meta, find)
    known = known_vectors(engine, readable(engine, collection), find, meta)
    writers = partial(engine.writer, index, options.wait)
    target = Target(store, writers, index, find, collection, meta.windows, known, options.work or Work())
    return drain(target, frozenset(ids), options.progress)


def finish(store: DocumentStore, engine: Engine, index: str, collection: Collection) -> bool:
    """Publish an index that is whole; whether it was. What failed in most of its documents is given up and dropped."""
    job = store.job(building_job(collection.name, index)) or Job(building_job(collection.name, index), time.time())
    published = engine.published(collection.name)
    if published is not None and split_index(published)[1] > split_index(index)[1]:
        return _give_up(store, engine, index, replace(job, cause=f"{published} was published meanwhile"))
    if store.pending(index, 1):
        return False
    if problems := verify(store, engine, index):
        _log.warning("%s is filled and not whole yet: %s", index, "; ".join(problems))
        return False
    try:
        check_failures(store, index)
    except Conflict as error:
        return _give_up(store, engine, index, replace(job, cause=error.message))
    engine.publish(index)
    store.keep_job(replace(job, finished=time.time()))
    return True


def _give_up(store: DocumentStore, engine: Engine, index: str, job: Job) -> bool:
    _log.error("%s is given up: %s", index, job.cause)
    engine.drop(index, wait=_DROP_SECONDS)
    store.forget(index)
    store.keep_job(replace(job, finished=time.time()))
    return False


def given_up(store: DocumentStore, collection: str, index: str) -> None:
    """Write down that an index, which somebody dropped, is not to be filled any more."""
    job = store.job(building_job(collection, index))
    if job is not None and not job.finished:
        store.keep_job(replace(job, finished=time.time(), cause="it was dropped"))
    store.forget(index)


def retire(store: DocumentStore, engine: Engine, collection: str) -> list[str]:
    """Drop the indexes that a published one has replaced for a while; their names."""
    published = engine.published(collection)
    job = store.job(building_job(collection, published)) if published else None
    if published is None or job is None:
        return []
    if not job.finished:  # it was killed between publishing and writing that down
        store.keep_job(replace(job, finished=time.time()))
        return []
    if time.time() - job.finished < GRACE_SECONDS:
        return []
    dropped = []
    for index in engine.names(collection):
        # One of a higher generation has just been made.
        if split_index(index)[1] < split_index(published)[1] and not is_building(store, collection, index):
            with suppress(Conflict, NotFound):  # somebody still fills it, or dropped it meanwhile
                engine.drop(index)
                store.forget(index)
                dropped.append(index)
    return dropped


def own_encoders(meta: IndexMeta, find: Options) -> dict[str, Encoder]:
    """Vector field -> the encoder that an index was made for. Raises `ModelError` where one is not among the models here."""
    found = {}
    for name, fingerprint in meta.encoders.items():
        encoder = find.find(fingerprint) if find.find else None
        if encoder is None:
            raise ModelError(
                f"the {name} encoder {fingerprint[:12]} of index {meta.index} is not among the models here", field=name
            )
        found[name] = encoder
    return found


def _is_wanted(engine: Engine, meta: IndexMeta, encoders: Mapping[str, Encoder]) -> bool:
    given = {name: encoder.fingerprint for name, encoder in encoders.items()}
    return dict(meta.encoders) == given and meta.analysis == ANALYSIS_VERSION and not engine.drift(meta.index)
