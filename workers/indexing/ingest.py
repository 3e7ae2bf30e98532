"""From stored documents to an index: a generator that works until nothing is pending, and the rebuild of an index aside.

Every step can be repeated: what a kill interrupts is still pending in the store, and is done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.documents import Passage
from mappings.errors import Conflict, ModelError, NotFound, Unavailable
from search.protocols import Encoder, Engine, IndexMeta, Vectors
from search.storage import DocumentStore, State
from workers.indexing.batches import Known, Outcome, Progress, Target, Work, drain

__all__ = ["Engine", "Options", "Outcome", "Progress", "check_index", "delete", "ingest", "rebuild", "verify"]

Find = Callable[[str], Encoder | None]
"""Fingerprint -> the encoder that has it, if there is one here."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to ingest: who is told, how many seconds to wait for the writer, what finds an index's own encoders."""

    progress: Progress | None = None
    wait: float = 0.0
    find: Find | None = None
    work: Work | None = None


DEFAULT: Final = Options()

_ROUNDS: Final = 10
_HANDOVER_SECONDS: Final = 60.0
_RETIRE_SECONDS: Final = 600.0
_COMPACT_ABOVE: Final = 50_000
_GRACE_SECONDS = 2.0


def ingest(
    store: DocumentStore,
    engine: Engine,
    encoders: Mapping[str, Encoder],
    collection: Collection,
    ids: Iterable[str] | None = None,
    options: Options = DEFAULT,
) -> Iterator[Outcome]:
    """Index everything pending in the published index, or only `ids`; the first index is made and published.

    A new index is filled by `encoders`. One that was built by others goes on with its own, when `options.find` knows
    them: so documents keep arriving while a rebuild moves the collection to another model, and after it.

    Raises `Conflict` when another process still writes after `options.wait` seconds, `ModelError` when the index was built
    by other encoders or another analysis, `Unavailable` when the disk is full; nothing accepted is lost then.
    """
    wanted = None if ids is None else frozenset(ids)
    meta: IndexMeta | None = None
    wait = options.wait
    while meta is None or engine.published(collection.name) != meta.index:
        # A rebuild may publish another index while this one is filled: what came in meanwhile is due there too.
        wait = wait if meta is None else max(wait, _HANDOVER_SECONDS)
        meta = _published(engine, encoders, collection)
        encoders = _own(meta, encoders, options.find)
        check_index(meta, encoders)
        writers = partial(engine.writer, meta.index, wait)
        target = Target(store, writers, meta.index, encoders, collection, meta.windows, work=options.work or Work())
        yield from drain(target, wanted, options.progress)
    if wanted is None and engine.dead(meta.index) > max(_COMPACT_ABOVE, engine.meta(meta.index).rows):
        # Most of what a vector search reads was replaced or deleted since; no encoder is needed to leave it out.
        for _ in rebuild(store, engine, encoders, collection):
            pass


def _own(meta: IndexMeta, given: Mapping[str, Encoder], find: Find | None) -> Mapping[str, Encoder]:
    """The encoders that filled the index, of those that are given or found; a given one where its own is not known."""
    own = dict(given)
    for name, fingerprint in meta.encoders.items():
        if name in own and own[name].fingerprint != fingerprint and find is not None:
            own[name] = find(fingerprint) or own[name]
    return own


def delete(
    store: DocumentStore, engine: Engine, encoders: Mapping[str, Encoder], collection: Collection, ids: Iterable[str]
) -> Iterator[Outcome]:
    """Bury `ids` in the store, then carry that out in the index. Unknown ids give no outcome."""
    gone = {accepted.id for accepted in store.delete(ids) if accepted.changed}
    if gone:
        yield from ingest(store, engine, encoders, collection, gone)


def rebuild(
    store: DocumentStore,
    engine: Engine,
    encoders: Mapping[str, Encoder],
    collection: Collection,
    progress: Progress | None = None,
    grace: float | None = None,
) -> Iterator[Outcome]:
    """Build a new generation aside and publish it in one step; searches and ingestion go on undisturbed.

    Vectors that the old one holds for the same passage by the same encoder are taken over; an old one that is damaged,
    or of another version's form, is only replaced.

    After `grace` seconds (2), in which answers under way end, the old one is dropped. Any error, and giving up half-way,
    deletes the half-built one; what a kill left behind, the next rebuild clears away.
    """
    replaced = engine.published(collection.name)
    old = readable(engine, collection)
    _sweep(store, engine, collection)
    new = engine.create(collection.name, identities(encoders))
    try:
        with engine.writer(new.index) as writer:
            known = known_vectors(engine, old, encoders, new)
            target = Target(store, lambda: nullcontext(writer), new.index, encoders, collection, new.windows, known)
            yield from _complete(target, engine, progress)
            engine.publish(new.index)
            yield from drain(target, None, progress)
    except BaseException:
        _discard(store, engine, new.index, collection)
        raise
    if replaced is not None:
        _retire(store, engine, replaced, _GRACE_SECONDS if grace is None else grace)


def _complete(target: Target, engine: Engine, progress: Progress | None) -> Iterator[Outcome]:
    """Fill a new index until its counts are what the store recorded; what arrives meanwhile may take some rounds."""
    problems: list[str] = []
    for _ in range(_ROUNDS):
        yield from drain(target, None, progress)
        problems = verify(target.store, engine, target.index)
        if not problems:
            check_failures(target.store, target.index)
            return
    raise Conflict(f"the rebuilt index {target.index} is not whole: {'; '.join(problems)}", field="index")


def check_failures(store: DocumentStore, index: str) -> None:
    """Raise `Conflict` when most documents failed: the fault is then in the model or the settings, not in them."""
    states = store.counts(index).states
    failed = states.get(State.FAILED, 0)
    if failed > states.get(State.INDEXED, 0):
        cause = store.states(index, State.FAILED, limit=1)[0].cause
        raise Conflict(
            f"the rebuilt index {index} is not published: {failed:,} documents failed, the first with {cause!r}",
            field="index",
        )


def verify(store: DocumentStore, engine: Engine, index: str) -> list[str]:
    """What is wrong with an index that nobody writes, in plain words: its counts against the store's records."""
    meta, (documents, total) = engine.meta(index), store.recorded(index)
    problems = []
    if meta.documents != documents:
        problems.append(f"it holds {meta.documents:,} documents, the store recorded {documents:,}")
    if meta.passages != total:
        problems.append(f"it holds {meta.passages:,} passages, the store recorded {total:,}")
    return problems


def check_index(meta: IndexMeta, encoders: Mapping[str, Encoder]) -> None:
    """Raise `ModelError` unless the index was filled by these encoders and by the analysis of today."""
    given = {name: encoder.fingerprint for name, encoder in encoders.items()}
    for name in sorted(meta.encoders.keys() | given.keys()):
        there, here = meta.encoders.get(name, "none"), given.get(name, "none")
        if there != here:
            raise ModelError(
                f"index {meta.index} was built with the {name} encoder {there[:12]}, not {here[:12]}: "
                f"rebuild it, or choose the model it was built with",
                field=name,
            )
    if meta.analysis != ANALYSIS_VERSION:
        raise ModelError(
            f"index {meta.index} was built with the analysis {meta.analysis}, not {ANALYSIS_VERSION}: rebuild it",
            field="analysis",
        )


def _resolved(engine: Engine, collection: Collection) -> IndexMeta | None:
    """The published index as it is this moment; what `resolve` gives may be a second old."""
    index, asked = engine.published(collection.name), None
    while index not in (None, asked):
        try:
            return engine.meta(str(index))
        except NotFound:  # dropped in between, so another one is published by now; or the pointer points nowhere
            index, asked = engine.published(collection.name), index
    return None


def readable(engine: Engine, collection: Collection) -> IndexMeta | None:
    """The published index, unless there is none or it can't be opened."""
    try:
        return _resolved(engine, collection)
    except (Conflict, Unavailable):
        return None


def _published(engine: Engine, encoders: Mapping[str, Encoder], collection: Collection) -> IndexMeta:
    meta = _resolved(engine, collection)
    if meta is None:
        made = engine.create(collection.name, identities(encoders))
        engine.publish(made.index, first=True)
        meta = _resolved(engine, collection) or made
        if meta.index != made.index:  # another process was first, and its index is being searched already
            with suppress(Conflict, NotFound):
                engine.drop(made.index)
    return meta


def identities(encoders: Mapping[str, Encoder]) -> dict[str, tuple[str, int]]:
    """Vector field -> (fingerprint, dimension), as an index is made for."""
    return {name: (encoder.fingerprint, encoder.dimension) for name, encoder in encoders.items()}


def known_vectors(
    engine: Engine, old: IndexMeta | None, encoders: Mapping[str, Encoder], new: IndexMeta
) -> Known | None:
    """What finds vectors in the index `old`, of those fields that the same encoder filled from the same windows."""
    if old is None or (old.windows, old.analysis) != (new.windows, new.analysis):
        return None
    same = [name for name, encoder in encoders.items() if old.encoders.get(name) == encoder.fingerprint]
    index = old.index

    def find(passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        with suppress(NotFound):  # dropped meanwhile by somebody else
            return {key: {name: rows[name] for name in same} for key, rows in engine.vectors(index, passages).items()}
        return {}

    return find if same else None


def building_job(collection: str, index: str) -> str:
    """The name of the job under which the queue fills an index."""
    return f"{collection}.{index}"


def is_building(store: DocumentStore, collection: str, index: str) -> bool:
    """Whether the queue fills this index, to publish it in the end."""
    job = store.job(building_job(collection, index))
    return job is not None and not job.finished


def _discard(store: DocumentStore, engine: Engine, index: str, collection: Collection) -> None:
    """Delete a half-built index, unless the error came after it was published."""
    if engine.published(collection.name) != index:
        engine.drop(index)
        store.forget(index)


def _sweep(store: DocumentStore, engine: Engine, collection: Collection) -> None:
    """Drop every index that is neither published nor being filled, here or by the queue."""
    for index in engine.names(collection.name):
        if index != engine.published(collection.name) and not is_building(store, collection.name, index):
            with suppress(Conflict, NotFound):
                engine.drop(index)
                store.forget(index)


def _retire(store: DocumentStore, engine: Engine, index: str, grace: float) -> None:
    """Drop a superseded index after `grace` seconds, and after the process that still fills it, if one does.

    One that is still being filled much later is left for `index drop`.
    """
    time.sleep(grace)
    with suppress(Conflict, NotFound):
        engine.drop(index, wait=_RETIRE_SECONDS)
        store.forget(index)
