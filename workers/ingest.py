"""From stored documents to an index: a generator that works until nothing is pending, and the rebuild of an index aside.

Every step can be repeated: what a kill interrupts is still pending in the store, and is done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from mappings.analysis.passages import passages
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.errors import Conflict, InvalidInput, MedleyError, ModelError, NotFound
from search.protocols import (
    DocumentStore,
    Encoder,
    IndexEntry,
    IndexMeta,
    IndexWriter,
    State,
    StateRecord,
    StoredDocument,
    Vectors,
)

BATCH: Final = 256
"""Documents that are written in one commit."""

_WINDOW: Final = 20_000
_READ: Final = 16
_ROUNDS: Final = 10
_HANDOVER_SECONDS: Final = 60.0
_RETIRE_SECONDS: Final = 600.0
_BATCH_CHARACTERS: Final = 4_000_000


class Index(Protocol):
    """What ingestion needs of an engine: `IndexAdmin`, and the descriptions of its indexes."""

    def resolve(self, collection: str) -> IndexMeta:
        """The published index of a collection."""
        ...

    def meta(self, index: str) -> IndexMeta:
        """The description of any index."""
        ...

    def create(self, collection: str, encoders: Mapping[str, tuple[str, int]]) -> IndexMeta:
        """A new empty generation."""
        ...

    def writer(self, index: str, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """The one writer of an index."""
        ...

    def publish(self, index: str) -> None:
        """Answer from this index."""
        ...

    def list(self, collection: str | None = None) -> Sequence[tuple[IndexMeta, bool]]:
        """Every index and whether it is the published one."""
        ...

    def drop(self, index: str, wait: float = 0.0) -> None:
        """Remove an index."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document version: `indexed`, also for a deletion carried out, or `failed` with its cause."""

    id: str
    version: int
    state: State
    passages: int = 0
    deleted: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """One index being filled: where documents come from, what encodes them, and where they go."""

    store: DocumentStore
    writer: IndexWriter
    index: str
    encoders: Mapping[str, Encoder]
    collection: Collection


Progress = Callable[[int, int], None]
"""Called with (documents done, documents known to be there)."""


def ingest(
    store: DocumentStore,
    engine: Index,
    encoders: Mapping[str, Encoder],
    collection: Collection,
    ids: Iterable[str] | None = None,
    progress: Progress | None = None,
    wait: float = 0.0,
) -> Iterator[Outcome]:
    """Index everything pending in the published index, or only `ids`; the first index is made and published.

    Raises `Conflict` when another process still writes after `wait` seconds, `ModelError` when the index was built
    by other encoders or another analysis, `Unavailable` when the disk is full; nothing accepted is lost then.
    """
    wanted = None if ids is None else frozenset(ids)
    meta: IndexMeta | None = None
    while meta is None or _published(engine, encoders, collection).index != meta.index:
        # A rebuild may publish another index while this one is filled: what came in meanwhile is due there too.
        wait = wait if meta is None else max(wait, _HANDOVER_SECONDS)
        meta = _published(engine, encoders, collection)
        check_index(meta, encoders)
        with engine.writer(meta.index, wait) as writer:
            yield from _drain(Target(store, writer, meta.index, encoders, collection), wanted, progress)


def delete(
    store: DocumentStore, engine: Index, encoders: Mapping[str, Encoder], collection: Collection, ids: Iterable[str]
) -> Iterator[Outcome]:
    """Bury `ids` in the store, then carry that out in the index. Unknown ids give no outcome."""
    gone = {accepted.id for accepted in store.delete(ids) if accepted.changed}
    if gone:
        yield from ingest(store, engine, encoders, collection, gone)


def rebuild(
    store: DocumentStore,
    engine: Index,
    encoders: Mapping[str, Encoder],
    collection: Collection,
    progress: Progress | None = None,
    grace: float = 2.0,
) -> Iterator[Outcome]:
    """Build a new generation aside and publish it in one step; searches and ingestion go on undisturbed.

    After `grace` seconds, in which answers under way end, the old one is dropped. Any error, and giving up half-way,
    deletes the half-built one; what a kill left behind, the next rebuild clears away.
    """
    old = _resolved(engine, collection)
    _sweep(store, engine, collection)
    new = engine.create(collection.name, _identities(encoders))
    try:
        with engine.writer(new.index) as writer:
            target = Target(store, writer, new.index, encoders, collection)
            yield from _complete(target, engine, progress)
            engine.publish(new.index)
            yield from _drain(target, None, progress)
    except BaseException:
        _discard(store, engine, new.index, collection)
        raise
    if old is not None:
        _retire(store, engine, old.index, grace)


def _complete(target: Target, engine: Index, progress: Progress | None) -> Iterator[Outcome]:
    """Fill a new index until its counts are what the store recorded; what arrives meanwhile may take some rounds."""
    problems: list[str] = []
    for _ in range(_ROUNDS):
        yield from _drain(target, None, progress)
        problems = verify(target.store, engine, target.index)
        if not problems:
            return
    raise Conflict(f"the rebuilt index {target.index} is not whole: {'; '.join(problems)}", field="index")


def verify(store: DocumentStore, engine: Index, index: str) -> list[str]:
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


def _resolved(engine: Index, collection: Collection) -> IndexMeta | None:
    try:
        return engine.resolve(collection.name)
    except NotFound:
        return None


def _published(engine: Index, encoders: Mapping[str, Encoder], collection: Collection) -> IndexMeta:
    meta = _resolved(engine, collection)
    if meta is None:
        meta = engine.create(collection.name, _identities(encoders))
        engine.publish(meta.index)
    return meta


def _identities(encoders: Mapping[str, Encoder]) -> dict[str, tuple[str, int]]:
    return {name: (encoder.fingerprint, encoder.dimension) for name, encoder in encoders.items()}


def _drain(target: Target, ids: frozenset[str] | None, progress: Progress | None) -> Iterator[Outcome]:
    """Everything pending, window after window, until none is left; each document at most once a window."""
    done = 0
    while True:
        pending = target.store.pending(target.index, _WINDOW if ids is None else 2**62)
        names = [name for name, _ in pending if ids is None or name in ids]
        if not names:
            return
        total = done + len(names)
        for batch in _batches(target.store, names):
            outcomes = _process(target, batch)
            yield from outcomes
            done += len(batch)
            if progress is not None:
                progress(done, total)


def _batches(store: DocumentStore, names: Sequence[str]) -> Iterator[list[StoredDocument]]:
    """Stored documents in batches of bounded number and length, so that large documents don't add up in memory."""
    batch: list[StoredDocument] = []
    size = 0
    for start in range(0, len(names), _READ):
        found = store.latest(names[start : start + _READ])
        for stored in found.values():
            batch.append(stored)
            size += _characters(stored)
            if len(batch) >= BATCH or size >= _BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _characters(stored: StoredDocument) -> int:
    return sum(len(section.text) for section in stored.document.sections) if stored.document else 0


def _process(target: Target, batch: Sequence[StoredDocument]) -> list[Outcome]:
    """Write a batch, commit it, then record it: a kill in between leaves it pending, and writing again replaces it."""
    buried = [stored for stored in batch if stored.document is None]
    outcomes = [Outcome(stored.id, stored.version, State.INDEXED, deleted=True) for stored in buried]
    target.writer.remove([stored.id for stored in buried])
    outcomes += _write(target, [stored for stored in batch if stored.document is not None])
    failed = [outcome.id for outcome in outcomes if outcome.state is State.FAILED]
    target.writer.remove(failed)  # an earlier version of what can't be indexed must not stay to be found
    target.writer.commit()
    return _settle(target, outcomes)


def _settle(target: Target, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Record outcomes; one whose version was superseded meanwhile is still pending, and comes again as the newer one."""
    records = [StateRecord(item.id, item.version, item.state, item.passages, cause=item.cause) for item in outcomes]
    taken = target.store.settle(target.index, records)
    return [outcome for outcome, kept in zip(outcomes, taken, strict=True) if kept]


def _write(target: Target, batch: Sequence[StoredDocument]) -> list[Outcome]:
    """Analyse, encode and write; when that raises, halve the batch until the documents at fault stand alone."""
    if not batch:
        return []
    try:
        entries = [_analysed(stored, target.collection) for stored in batch]
        target.writer.write(_encoded(entries, target.encoders))
    except MedleyError as error:
        if not isinstance(error, InvalidInput) and not _is_own_fault(error):
            raise
        return _halved(target, batch, error)
    except Exception as error:  # whatever a model or an analysis does to one document must not stop the others
        return _halved(target, batch, error)
    return [Outcome(item.document, item.version, State.INDEXED, len(item.passages)) for item in entries]


def _is_own_fault(error: MedleyError) -> bool:
    """Whether the document is at fault: a vector that is not finite is; a server that is down is not."""
    return isinstance(error, ModelError) and "not finite" in error.message


def _halved(target: Target, batch: Sequence[StoredDocument], error: Exception) -> list[Outcome]:
    if len(batch) == 1:
        cause = error.message if isinstance(error, MedleyError) else f"{type(error).__name__}: {error}"
        return [Outcome(batch[0].id, batch[0].version, State.FAILED, cause=cause[:2_000])]
    middle = len(batch) // 2
    return _write(target, batch[:middle]) + _write(target, batch[middle:])


def _analysed(stored: StoredDocument, collection: Collection) -> IndexEntry:
    document = stored.document
    if document is None:
        raise ValueError(f"{stored.id} is a tombstone")
    pieces = passages(document, stored.version, collection)
    return IndexEntry(document.id, stored.version, document.labels, document.fields, pieces, {})


def _encoded(entries: Sequence[IndexEntry], encoders: Mapping[str, Encoder]) -> list[IndexEntry]:
    """The entries with their vectors, encoded together: a large batch sorts by length and wastes little."""
    texts = [passage.model_text for entry in entries for passage in entry.passages]
    found = {name: _encode(encoder, texts) for name, encoder in encoders.items()}
    ends = np.cumsum([len(entry.passages) for entry in entries])
    split = {name: np.split(vectors, ends[:-1]) for name, vectors in found.items()}
    return [
        IndexEntry(item.document, item.version, item.labels, item.fields, item.passages,
                   {name: parts[number] for name, parts in split.items()})
        for number, item in enumerate(entries)
    ]  # fmt: skip


def _encode(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    return encoder.encode_passages(texts) if texts else np.empty((0, encoder.dimension), np.float32)


def _discard(store: DocumentStore, engine: Index, index: str, collection: Collection) -> None:
    """Delete a half-built index, unless the error came after it was published."""
    current = _resolved(engine, collection)
    if current is None or current.index != index:
        engine.drop(index)
        store.forget(index)


def _sweep(store: DocumentStore, engine: Index, collection: Collection) -> None:
    """Drop every index that is neither published nor being filled."""
    for meta, published in engine.list(collection.name):
        if not published:
            with suppress(Conflict, NotFound):
                engine.drop(meta.index)
                store.forget(meta.index)


def _retire(store: DocumentStore, engine: Index, index: str, grace: float) -> None:
    """Drop a superseded index after `grace` seconds, and after the process that still fills it, if one does.

    One that is still being filled much later is left for `index drop`.
    """
    time.sleep(grace)
    with suppress(Conflict, NotFound):
        engine.drop(index, wait=_RETIRE_SECONDS)
        store.forget(index)
