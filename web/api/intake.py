"""Batches of posted records on their way into a collection, and a line about each once the store has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import IO

from mappings.documents import Rejection
from mappings.errors import MedleyError, Unavailable
from search.storage import Accepted
from web.api.upload import PostedRecord
from web.api.wire_feeding import RecordOutcome
from web.backlog import BacklogFull
from web.use_cases import RecordedDelivery, record_status
from web.wire import ErrorBody


class Intake:
    """The records of one delivery; their outcomes go to `notes`, one JSON line for each, in order.

    `check` raises `BacklogFull` when no more changes are accepted. From then on every record is rejected, even if there
    is room again: the sender will send the rest again, and then, too, the last record of an id must win.
    """

    def __init__(self, delivery: RecordedDelivery, check: Callable[[], None], notes: IO[bytes]) -> None:
        self._delivery, self._check, self._notes = delivery, check, notes
        self.refusal: BacklogFull | None = None

    def accept(self, batches: Iterable[list[PostedRecord]]) -> None:
        """Accept every batch. Raises what reading and storing raise; the message names the job of what was accepted."""
        try:
            for batch in batches:
                self._note(batch, self._store(batch))
        except MedleyError as error:
            explained = copy(error)
            job = self._delivery.job.id
            explained.message = f"{error.message}; what was accepted before stays, and can be sent again: job {job}"
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
                outcome = _rejected(record, ErrorBody(code="invalid_input", message=item.reason, field=item.field))
            elif self.refusal is not None:
                outcome = _rejected(record, ErrorBody(code=self.refusal.code, message=self.refusal.message, field=None))
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
            raise Unavailable(f"the outcomes of the records can't be written: {reason}") from error


def _rejected(record: PostedRecord, error: ErrorBody) -> RecordOutcome:
    return RecordOutcome(line=record.line, id=record.id, status="rejected", version=None, error=error)
