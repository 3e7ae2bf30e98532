"""The last step of indexing: writes a batch, commits it, and records it in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from search.engines.administration import IndexWriter
from search.protocols import IndexEntry
from search.storage import DocumentStore, State, StateRecord
from search.tracing import spans
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
        """Write a batch, commit it, then record it. A kill in between leaves it pending; writing it again replaces it.

        While we hold the writer, no other process writes to the index. Versions that were superseded, or indexed by
        another process, while we read and encoded them are skipped: an older version never replaces a newer one.
        """
        with spans.span("index.write", {"medley.documents": len(batch)}), self.open_writer() as writer:
            batch = batch.restrict(dict(self.store.pending(self.index, _ALL, {*batch.ids()})))
            if not len(batch):
                return []
            written = isolate_failures(batch.entries, lambda entries: _write_entries(writer, entries))
            batch = DocumentBatch(deleted=batch.deleted, failed=batch.failed) + written
            # If the new version of a document cannot be indexed, its earlier version must not be found any more.
            writer.remove([*(item.id for item in batch.deleted), *(item.id for item in batch.failed)])
            with spans.span("index.commit"):
                refused = writer.commit()
            return self._record([_apply_refusal(outcome, refused) for outcome in batch.outcomes()])

    def write_words(self, batch: DocumentBatch) -> None:
        """Write and commit the batch's entries, which have no vectors; they stay pending.

        Deletions, failures and documents that are at fault here are left to `write`, which records them.
        """
        with spans.span("index.write_words", {"medley.documents": len(batch)}), self.open_writer() as writer:
            batch = batch.restrict(dict(self.store.pending(self.index, _ALL, {*batch.ids()})))
            written = isolate_failures(batch.entries, lambda entries: _write_entries(writer, entries))
            if written.entries:
                writer.commit()

    def _record(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Record outcomes. A version that was superseded in the meantime is omitted: its document is pending again."""
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
