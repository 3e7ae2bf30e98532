"""The writer of an index: vectors and ids are written to their files first, then the word index commits and refers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import tantivy

from mappings.errors import Damaged, InvalidInput, NotFound, Unavailable
from search.engines.embedded.integrity.files import check_sample
from search.engines.embedded.integrity.manifest import Manifest
from search.engines.embedded.layout import exclusive, translate_errors, unavailable
from search.engines.embedded.schema import EmbeddedIndexDescription, open_index, records
from search.engines.embedded.slots.writer import SlotWriter
from search.engines.embedded.tokens.files import SlotTokensWriter
from search.engines.values import check_vectors
from search.protocols import IndexEntry

_HEAP_BYTES: Final = 64_000_000


class EmbeddedWriter:
    """An `IndexWriter`.

    After an error, everything since the last commit is discarded and the writer rejects further calls.
    """

    def __init__(self, folder: Path, description: EmbeddedIndexDescription) -> None:
        self._description = description
        self._index = open_index(folder)
        self._words = self._open_words()
        self._broken: Unavailable | None = None
        self._folder = folder
        with ExitStack() as opened:  # a writer that can't open, perhaps as the disk is full, is opened again and again
            self._slots = SlotWriter(folder, description.dimensions)
            opened.callback(self._slots.close)
            self._tokens = SlotTokensWriter(folder, self._slots.rows) if description.tokens else None
            if self._tokens is not None:
                opened.callback(self._tokens.close)
            self._manifest = _known_manifest(folder)
            if self._manifest is not None and self._manifest.is_behind(folder):
                self._sync()
                self._record()
            opened.pop_all()

    def _open_words(self) -> Any:
        words = self._index.writer(_HEAP_BYTES, 1)
        # Files of a commit that a kill interrupted: a later commit that needs one of their names would fail.
        words.garbage_collect_files()
        return words

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Replace every earlier version of each entry's document.

        Raises `InvalidInput` or `ModelError` for an invalid entry, before anything is written.
        """
        prepared = self._prepare(entries)
        with self._guarded():
            first = self._slots.append(_row_ids(entries), self._stacked(entries))
            if self._tokens is not None:
                self._tokens.append(first, entries)
            for entry, documents in zip(entries, prepared, strict=True):
                self._words.delete_documents_by_term("document", entry.document)
                for document in documents:
                    self._words.add_document(document)

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        with self._guarded():
            for document in documents:
                self._words.delete_documents_by_term("document", document)

    def commit(self) -> Mapping[str, str]:
        """Make all writes durable, then visible. Rejects nothing: entries are validated when they are written."""
        with self._guarded():
            self._sync()
            self._words.commit()
            # A merge running beside later changes was observed to list deleted files in the index's meta file: every
            # commit waits for its merges, which ends tantivy's writer, and then opens a new one.
            self._words.wait_merging_threads()
            self._index.reload()
            self._words = self._open_words()
            self._record()
        return {}

    def _sync(self) -> None:
        self._slots.sync()
        if self._tokens is not None:
            self._tokens.sync()

    def _record(self) -> None:
        """Write the checksums of the commit; an index of an earlier program has none, and gets them by a rebuild."""
        if self._manifest is not None:
            sizes = self._slots.sizes() | (self._tokens.sizes() if self._tokens else {})
            self._manifest = self._manifest.record(self._folder, sizes)

    def close(self) -> None:
        """Discard uncommitted writes, wait for running merges, and close the files.

        The word index is not rolled back: that would leave a merge running, which could list, in the index's meta file, a
        segment whose files the next garbage collection has just removed.
        """
        files: list[SlotWriter | SlotTokensWriter] = [self._slots, *([self._tokens] if self._tokens else [])]
        for each in files:
            with suppress(ValueError, OSError):
                each.rollback()
        with suppress(ValueError):
            self._words.wait_merging_threads()
        for each in files:
            each.close()

    def _prepare(self, entries: Sequence[IndexEntry]) -> list[list[Any]]:
        """The validated word-index documents of each entry: an invalid one would make tantivy drop all the others."""
        slot = self._slots.rows
        prepared = []
        for entry in entries:
            check_vectors(entry, self._description.dimensions)
            prepared.append(self._documents(entry, slot))
            slot += sum(entry.rows)
        return prepared

    def _documents(self, entry: IndexEntry, slot: int) -> list[Any]:
        try:
            rows = records(entry, self._description.fields, slot)
            return [tantivy.Document.from_dict(row, self._index.schema) for row in rows]
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidInput(f"document {entry.document!r} can't be indexed: {error}", field="document") from error

    def _stacked(self, entries: Sequence[IndexEntry]) -> dict[str, Any]:
        """The vectors of all rows by field; those of documents without any are NaN, which no vector is."""
        return {
            name: np.concatenate(
                [
                    entry.vectors.get(name, np.full((sum(entry.rows), dimension), np.nan, np.float32))
                    for entry in entries
                ]
                or [np.empty((0, dimension), np.float32)]
            )
            for name, dimension in self._description.dimensions.items()
        }

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        # After a failed add or commit tantivy reports success and drops everything that follows: so one error ends this
        # writer, and its owner indexes again from the store.
        if self._broken is not None:
            raise self._broken
        try:
            yield
        except (OSError, ValueError, RuntimeError) as error:
            self._broken = unavailable(f"could not write index {self._description.index}", error)
            raise self._broken from error


def _known_manifest(folder: Path) -> Manifest | None:
    """The checksums of the index; None where there are none, or they are damaged: writing goes on, `verify` reports it."""
    with suppress(Damaged):
        return Manifest.load(folder)
    return None


def _row_ids(entries: Sequence[IndexEntry]) -> list[str]:
    """The passage id of every row."""
    return [
        passage.id
        for entry in entries
        for passage, rows in zip(entry.passages, entry.rows, strict=True)
        for _ in range(rows)
    ]


@contextmanager
def locked_for_writing(folder: Path, wait: float) -> Iterator[None]:
    """Exclude other writers of the index in `folder`. Raises `NotFound`, and `Conflict` after `wait` seconds."""
    _check_exists(folder)
    with exclusive(folder / "writer.lock", f"the writer of index {folder.name}", wait):
        _check_exists(folder)  # again: it could have been dropped meanwhile
        yield


@contextmanager
def lock_all(
    folder: Path, names: Callable[[], Sequence[str]], administration: AbstractContextManager[None], wait: float
) -> Iterator[None]:
    """Exclude the writers of all indexes in `folder`, then the collection's administration, in the order of dropping one."""
    with ExitStack() as stack:

        def hold(index: str, seconds: float) -> None:
            with suppress(NotFound):  # dropped meanwhile
                stack.enter_context(locked_for_writing(folder / index, seconds))

        held = names()
        for index in held:
            hold(index, wait)
        stack.enter_context(administration)
        for index in set(names()) - set(held):
            hold(index, 0.0)  # without waiting: whoever holds it can wait for the administration
        yield


def _check_exists(folder: Path) -> None:
    if not (folder / "index.json").is_file():
        raise NotFound(f"there is no index {folder.name!r}", field="index")


@contextmanager
def open_writer(folder: Path, wait: float) -> Iterator[EmbeddedWriter]:
    """The writer of the index in `folder`. Raises `Conflict` while another holds it after `wait` seconds."""
    with locked_for_writing(folder, wait):
        description = EmbeddedIndexDescription.load(folder)
        with translate_errors(f"could not open index {description.index} for writing"):
            check_sample(folder)
            writer = EmbeddedWriter(folder, description)
        try:
            yield writer
        finally:
            writer.close()
