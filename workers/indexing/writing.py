"""The last step of indexing: a batch written, committed, and recorded in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from search.protocols import IndexEntry, IndexWriter
from search.storage import DocumentStore, State, StateRecord
from workers.indexing.batches import DocumentBatch, Outcome, isolate_failures

OpenWriter = Callable[[], AbstractContextManager[IndexWriter]]
"""Opens the one writer of an index for the duration of a commit."""

_ALL: Final = 2**62


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """Writes batches to one index and records their outcomes in the store."""

    store: DocumentStore
    index: str
    open_writer: OpenWriter

    def write(self, batch: DocumentBatch) -> list[Outcome]:
        """Write a batch, commit it, then record it: a kill in between leaves it pending, and writing it again replaces it.

        While we hold the writer nobody else writes the index. What was superseded, or indexed by another process, while
        we read and encoded it is left out then: of two processes that race, the older version never replaces the newer.
        """
        with self.open_writer() as writer:
            batch = batch.restrict(dict(self.store.pending(self.index, _ALL, {*batch.ids()})))
            if not len(batch):
                return []
            written = isolate_failures(batch.entries, lambda entries: _write_entries(writer, entries))
            batch = DocumentBatch(deleted=batch.deleted, failed=batch.failed) + written
            # An earlier version of a document that can't be indexed must not be found any longer.
            writer.remove([*(item.id for item in batch.deleted), *(item.id for item in batch.failed)])
            refused = writer.commit()
            return self._record([_apply_refusal(outcome, refused) for outcome in batch.outcomes()])

    def _record(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Record outcomes; a version superseded meanwhile is left out: its document is pending, and comes again."""
        records = [StateRecord(item.id, item.version, item.state, item.passages, cause=item.cause) for item in outcomes]
        settled = self.store.settle(self.index, records)
        return [outcome for outcome, is_settled in zip(outcomes, settled, strict=True) if is_settled]


def _write_entries(writer: IndexWriter, entries: Sequence[IndexEntry]) -> Sequence[IndexEntry]:
    writer.write(entries)
    return entries


def _apply_refusal(outcome: Outcome, causes: Mapping[str, str]) -> Outcome:
    if outcome.id not in causes or outcome.state is State.FAILED:
        return outcome
    return Outcome.failure(outcome.id, outcome.version, causes[outcome.id])
