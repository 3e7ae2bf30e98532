"""One index being filled: stored documents in batches, analysed, encoded, written, committed and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from mappings.analysis.passages import passages, windows
from mappings.collection import Collection
from mappings.documents import Document, Passage
from mappings.errors import InvalidInput, MedleyError, ModelError, Unavailable
from search.protocols import Encoder, IndexEntry, IndexWriter, Vectors
from search.storage import DocumentStore, State, StateRecord, StoredDocument
from workers.indexing.prefetch import ahead

BATCH: Final = 256
"""Documents that are written in one commit."""

LONGEST_CAUSE: Final = 2_000
_PLAIN: Final = "Every encoder can read this."
_ALL: Final = 2**62
_WINDOW: Final = 20_000
_READ: Final = 16
_BATCH_CHARACTERS: Final = 4_000_000

Known = Callable[[Sequence[Passage]], Mapping[str, Mapping[str, Vectors]]]
"""Passages -> passage id -> vector field -> rows of shape (windows, d), for those whose vectors need no encoder."""

Progress = Callable[[int, int], None]
"""Called with (documents done, documents known to be there)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document version: `indexed`, also for a deletion carried out, or `failed` with its cause."""

    id: str
    version: int
    state: State
    passages: int = 0
    deleted: bool = False
    cause: str = ""


Writers = Callable[[], AbstractContextManager[IndexWriter]]
"""Opens the one writer of the index for the time of a commit."""


@dataclass(slots=True)
class Work:
    """What was done so far, for the figures of a worker; `encoding` in seconds; `tokens`, of encoders that count them."""

    documents: int = 0
    failed: int = 0
    texts: int = 0
    tokens: int = 0
    encoding: float = 0.0


@dataclass(frozen=True, slots=True)
class Target:
    """One index being filled: where documents come from, what encodes them in windows of how many words, where they go."""

    store: DocumentStore
    writers: Writers
    index: str
    encoders: Mapping[str, Encoder]
    collection: Collection
    windows: int = 0
    known: Known | None = None
    work: Work = field(default_factory=Work)


@dataclass(frozen=True, slots=True)
class Batch:
    """Document versions on their way: what is to be written, what is to be removed, and what failed with its cause."""

    entries: tuple[IndexEntry, ...] = ()
    buried: tuple[StoredDocument, ...] = ()
    failed: tuple[Outcome, ...] = ()

    def __add__(self, other: Batch) -> Batch:
        return Batch(self.entries + other.entries, self.buried + other.buried, self.failed + other.failed)

    def __len__(self) -> int:
        return len(self.entries) + len(self.buried) + len(self.failed)

    def only(self, versions: Mapping[str, int]) -> Batch:
        """What of it is still the version named in `versions`."""
        return Batch(
            tuple(item for item in self.entries if versions.get(item.document) == item.version),
            tuple(item for item in self.buried if versions.get(item.id) == item.version),
            tuple(item for item in self.failed if versions.get(item.id) == item.version),
        )


def drain(target: Target, ids: frozenset[str] | None, progress: Progress | None) -> Iterator[Outcome]:
    """Everything pending, window after window, until none is left; each document at most once a window.

    Where there is an encoder, reading and analysing, encoding, and writing each have a thread: none waits for another but
    for its next batch.
    """
    done = 0
    while True:
        names = [name for name, _ in target.store.pending(target.index, _WINDOW, ids)]
        if not names:
            return
        total = done + len(names)
        # Without an encoder all of it is Python, whose threads would only take turns.
        step = ahead if target.encoders else _one_by_one
        read = step(_analysed(stored, target) for stored in _batches(target.store, names))
        with closing(read), closing(step(_encoded(batch, target) for batch in read)) as batches:
            for batch in batches:
                yield from _written(target, batch)
                done += len(batch)
                if progress is not None:
                    progress(done, total)


def _one_by_one(items: Iterable[Batch]) -> Generator[Batch, None, None]:
    yield from items


def _batches(store: DocumentStore, names: Sequence[str]) -> Iterator[list[StoredDocument]]:
    """Stored documents in batches of bounded number and length, so that large documents don't add up in memory."""
    batch: list[StoredDocument] = []
    size = 0
    for start in range(0, len(names), _READ):
        wanted = names[start : start + _READ]
        found = store.latest(wanted)
        for stored in (found[name] for name in wanted):
            batch.append(stored)
            size += _characters(stored)
            if len(batch) >= BATCH or size >= _BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _characters(stored: StoredDocument) -> int:
    document = stored.document
    return len(document.title) + sum(len(section.text) for section in document.sections) if document else 0


def _written(target: Target, batch: Batch) -> list[Outcome]:
    """Write a batch, commit it, then record it: a kill in between leaves it pending, and writing again replaces it.

    While the writer is ours nobody else writes the index. What was superseded, or done by another, while we read and
    encoded it is left out then: so of two that race the older version never stands in the place of the newer.
    """
    with target.writers() as writer:
        versions = dict(target.store.pending(target.index, _ALL, {*_names(batch)}))
        batch = batch.only(versions)
        if not len(batch):
            return []
        batch = Batch(buried=batch.buried, failed=batch.failed) + _taken(writer, batch.entries)
        # An earlier version of what can't be indexed must not stay to be found.
        writer.remove([*(item.id for item in batch.buried), *(item.id for item in batch.failed)])
        refused = writer.commit()
        outcomes = _settle(target, [_refused(outcome, refused) for outcome in _outcomes(batch)])
    target.work.documents += len(outcomes)
    target.work.failed += sum(outcome.state is State.FAILED for outcome in outcomes)
    return outcomes


def _names(batch: Batch) -> Iterator[str]:
    yield from (item.document for item in batch.entries)
    yield from (item.id for item in batch.buried)
    yield from (item.id for item in batch.failed)


def _outcomes(batch: Batch) -> Iterator[Outcome]:
    yield from (Outcome(item.id, item.version, State.INDEXED, deleted=True) for item in batch.buried)
    yield from (Outcome(item.document, item.version, State.INDEXED, len(item.passages)) for item in batch.entries)
    yield from batch.failed


def _refused(outcome: Outcome, causes: Mapping[str, str]) -> Outcome:
    if outcome.id not in causes or outcome.state is State.FAILED:
        return outcome
    return Outcome(outcome.id, outcome.version, State.FAILED, cause=causes[outcome.id][:LONGEST_CAUSE])


def _settle(target: Target, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Record outcomes; one whose version was superseded meanwhile is still pending, and comes again as the newer one."""
    records = [StateRecord(item.id, item.version, item.state, item.passages, cause=item.cause) for item in outcomes]
    taken = target.store.settle(target.index, records)
    return [outcome for outcome, kept in zip(outcomes, taken, strict=True) if kept]


def _taken(writer: IndexWriter, entries: Sequence[IndexEntry]) -> Batch:
    def write(some: Sequence[IndexEntry]) -> Batch:
        writer.write(some)
        return Batch(entries=tuple(some))

    return _apart(entries, write)


def _apart(entries: Sequence[IndexEntry], step: Callable[[Sequence[IndexEntry]], Batch]) -> Batch:
    """What `step` makes of entries; when it raises, they are halved until the documents at fault stand alone."""
    if not entries:
        return Batch()
    try:
        return step(entries)
    except (InvalidInput, ModelError) as error:
        cause = error.message
    except MedleyError:
        raise  # a part of the house is down
    except Exception as error:  # whatever a model does to one document must not stop the others
        cause = f"{type(error).__name__}: {error}"
    if len(entries) == 1:
        return Batch(failed=(_failed(entries[0].document, entries[0].version, cause),))
    middle = len(entries) // 2
    return _apart(entries[:middle], step) + _apart(entries[middle:], step)


def _failed(document: str, version: int, cause: str) -> Outcome:
    return Outcome(document, version, State.FAILED, cause=cause[:LONGEST_CAUSE])


def _analysed(batch: Sequence[StoredDocument], target: Target) -> Batch:
    """Each document as an entry without vectors; one that can't be analysed fails alone."""
    entries, failed = [], []
    for stored in batch:
        if stored.document is None:
            continue
        try:
            entries.append(_entry(stored, stored.document, target.collection))
        except Exception as error:  # whatever an analysis does to one document must not stop the others
            cause = error.message if isinstance(error, MedleyError) else f"{type(error).__name__}: {error}"
            failed.append(_failed(stored.id, stored.version, cause))
    return Batch(tuple(entries), tuple(stored for stored in batch if stored.document is None), tuple(failed))


def _entry(stored: StoredDocument, document: Document, collection: Collection) -> IndexEntry:
    pieces = passages(document, stored.version, collection)
    return IndexEntry(document.id, stored.version, document.labels, document.fields, pieces, {})


def _encoded(batch: Batch, target: Target) -> Batch:
    """The batch with vectors, encoded together: a large batch sorts by length and wastes little."""
    started, before = time.perf_counter(), _tokens(target)
    try:
        done = _apart(batch.entries, lambda entries: Batch(entries=_with_vectors(target, entries)))
    finally:
        target.work.encoding += time.perf_counter() - started
        target.work.tokens += _tokens(target) - before
    if done.failed and not done.entries:
        _check_encoders(target)
    return Batch(buried=batch.buried, failed=batch.failed) + done


def _check_encoders(target: Target) -> None:
    """Raise `Unavailable` when an encoder can't read any text: then it is at fault, and none of the documents."""
    for name, encoder in target.encoders.items():
        try:
            encoder.encode_queries([_PLAIN])  # passages may come from the cache on disk, and prove nothing
        except MedleyError as error:
            raise Unavailable(f"the encoder of {name!r} reads no text at all: {error.message}") from error
        except Exception as error:  # whatever a library of the device raises
            raise Unavailable(
                f"the encoder of {name!r} reads no text at all: {type(error).__name__}: {error}"
            ) from error


def _tokens(target: Target) -> int:
    """What those encoders that count their tokens have read so far."""
    return sum(int(getattr(encoder, "tokens_run", 0)) for encoder in target.encoders.values())


def _with_vectors(target: Target, entries: Sequence[IndexEntry]) -> tuple[IndexEntry, ...]:
    every = [passage for entry in entries for passage in entry.passages]
    known = target.known(every) if target.known else {}
    read = [windows(passage, target.windows) for passage in every]
    found = {
        name: _vectors(encoder, read, [known.get(passage.id, {}).get(name) for passage in every])
        for name, encoder in target.encoders.items()
    }
    target.work.texts += sum(map(len, read)) * len(found)
    done = iter(range(len(every)))
    made = []
    for entry in entries:
        own = [next(done) for _ in entry.passages]
        vectors = {name: np.concatenate([rows[number] for number in own]) for name, rows in found.items()}
        made.append(replace(entry, vectors=vectors, windows=tuple(len(read[number]) for number in own)))
    return tuple(made)


def _vectors(encoder: Encoder, read: Sequence[tuple[str, ...]], known: Sequence[Vectors | None]) -> list[Vectors]:
    """For each passage its rows, shape (windows, d); only what is not known is encoded."""
    known = [
        rows if rows is not None and len(rows) == len(texts) else None for texts, rows in zip(read, known, strict=True)
    ]
    missing = [text for texts, rows in zip(read, known, strict=True) if rows is None for text in texts]
    fresh = encoder.encode_passages(missing) if missing else np.empty((0, encoder.dimension), np.float32)
    made, start = [], 0
    for texts, rows in zip(read, known, strict=True):
        if rows is None:
            rows = fresh[start : start + len(texts)]
            start += len(texts)
        made.append(rows)
    return made
