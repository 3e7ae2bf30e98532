"""One index being filled: stored documents in batches, analysed, encoded, written, committed and recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mappings.analysis.passages import passages, windows
from mappings.collection import Collection
from mappings.documents import Passage
from mappings.errors import InvalidInput, MedleyError, ModelError
from search.protocols import Encoder, IndexEntry, IndexWriter, Vectors
from search.storage import DocumentStore, State, StateRecord, StoredDocument

BATCH: Final = 256
"""Documents that are written in one commit."""

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


@dataclass(frozen=True, slots=True)
class Target:
    """One index being filled: where documents come from, what encodes them in windows of how many words, where they go."""

    store: DocumentStore
    writer: IndexWriter
    index: str
    encoders: Mapping[str, Encoder]
    collection: Collection
    windows: int = 0
    known: Known | None = None


def drain(target: Target, ids: frozenset[str] | None, progress: Progress | None) -> Iterator[Outcome]:
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


def _process(target: Target, batch: Sequence[StoredDocument]) -> list[Outcome]:
    """Write a batch, commit it, then record it: a kill in between leaves it pending, and writing again replaces it."""
    buried = [stored for stored in batch if stored.document is None]
    outcomes = [Outcome(stored.id, stored.version, State.INDEXED, deleted=True) for stored in buried]
    target.writer.remove([stored.id for stored in buried])
    outcomes += _write(target, [stored for stored in batch if stored.document is not None])
    failed = [outcome.id for outcome in outcomes if outcome.state is State.FAILED]
    target.writer.remove(failed)  # an earlier version of what can't be indexed must not stay to be found
    refused = target.writer.commit()
    return _settle(target, [_refused(outcome, refused) for outcome in outcomes])


def _refused(outcome: Outcome, causes: Mapping[str, str]) -> Outcome:
    if outcome.id not in causes or outcome.state is State.FAILED:
        return outcome
    return Outcome(outcome.id, outcome.version, State.FAILED, cause=causes[outcome.id][:2_000])


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
        target.writer.write(_encoded(target, entries))
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


def _encoded(target: Target, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    """The entries with their vectors, encoded together: a large batch sorts by length and wastes little."""
    every = [passage for entry in entries for passage in entry.passages]
    known = target.known(every) if target.known else {}
    read = [windows(passage, target.windows) for passage in every]
    found = {
        name: _vectors(encoder, read, [known.get(passage.id, {}).get(name) for passage in every])
        for name, encoder in target.encoders.items()
    }
    done = iter(range(len(every)))
    made = []
    for entry in entries:
        own = [next(done) for _ in entry.passages]
        vectors = {name: np.concatenate([rows[number] for number in own]) for name, rows in found.items()}
        made.append(replace(entry, vectors=vectors, windows=tuple(len(read[number]) for number in own)))
    return made


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
