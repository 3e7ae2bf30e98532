"""Stores batches of posted records in a collection and writes the outcome of each record, one JSON line per record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import IO

from mappings.documents import Rejection
from mappings.errors import MedleyError, Unavailable
from search.storage import Accepted
from web.api.ingestion_answers import RecordOutcome
from web.api.record_stream import PostedRecord
from web.backlog import BacklogFull
from web.use_cases import RecordedDelivery, record_status
from web.wire import ErrorDetail


class Intake:
    """Stores the records of one delivery and writes their outcomes to `notes`, one JSON line per record, in order.

    `check` raises `BacklogFull` when no more changes are accepted. From then on every record is rejected, even once there
    is room again: the client will resend the rest, and the last record of an id must still win.
    """

    def __init__(self, delivery: RecordedDelivery, check: Callable[[], None], notes: IO[bytes]) -> None:
        self._delivery, self._check, self._notes = delivery, check, notes
        self.refusal: BacklogFull | None = None

    def accept(self, batches: Iterable[list[PostedRecord]]) -> None:
        """Accept every batch. The messages of errors in reading and storing name the job of the accepted records."""
        try:
            for batch in batches:
                self._note(batch, self._store(batch))
        except MedleyError as error:
            explained = copy(error)
            job = self._delivery.job.id
            explained.message = f"{error.message}; the records accepted before stay and can be sent again: job {job}"
            raise explained from error

    def _store(self, batch: Sequence[PostedRecord]) -> Sequence[Accepted]:
        try:
            self._check()
        except BacklogFull as error:
            self.refusal = self.refusal or error
        if self.refusal:
            self._delivery.reject(len(batch))
            return []
        return self._delivery.accept([record.item for record in batch])

    def _note(self, batch: Sequence[PostedRecord], done: Sequence[Accepted]) -> None:
        answers = iter(done)
        for record in batch:
            item = record.item
            if isinstance(item, Rejection):
                outcome = _rejected(record, ErrorDetail(code="invalid_input", message=item.reason, field=item.field))
            elif self.refusal is not None:
                outcome = _rejected(
                    record, ErrorDetail(code=self.refusal.code, message=self.refusal.message, field=None)
                )
            else:
                answer = next(answers)
                outcome = RecordOutcome(
                    line=record.line,
                    id=answer.id,
                    status=record_status(item, answer),
                    version=answer.version or None,
                    error=None,
                )
            self._write(outcome.model_dump_json().encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self._notes.write(line)
        except OSError as error:
            reason = error.strerror or error
            raise Unavailable(f"could not write the outcomes of the records: {reason}") from error


def _rejected(record: PostedRecord, error: ErrorDetail) -> RecordOutcome:
    return RecordOutcome(line=record.line, id=record.id, status="rejected", version=None, error=error)
