"""Stores batches of posted records in a collection and writes the outcome of each record, one JSON line per record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import IO, Final

from mappings.documents import Rejection
from mappings.errors import MedleyError, Unavailable
from search.storage import Accepted, Change
from web.api.ingestion_answers import RecordOutcome
from web.api.record_stream import PostedRecord
from web.backlog import BacklogFull
from web.use_cases import RecordedDelivery, record_status
from web.wire import ErrorDetail

LISTED_OUTCOMES: Final = 20_000
"""So many outcomes other than rejections does an answer list: about 1.5 MB of them."""

LISTED_REJECTIONS: Final = 10_000
_REASON_CHARACTERS: Final = 300


class Intake:
    """Stores the records of one delivery and writes their outcomes to `notes`, one JSON line per record, in order.

    The outcomes of records after the first `LISTED_OUTCOMES`, and after the first `LISTED_REJECTIONS`, are only counted.

    `check` raises `BacklogFull` when no more changes are accepted. From then on every record is rejected, even once there
    is room again: the client will resend the rest, and the last record of an id must still win.
    """

    def __init__(self, delivery: RecordedDelivery, check: Callable[[], None], notes: IO[bytes]) -> None:
        self._delivery, self._check, self._notes = delivery, check, notes
        self.refusal: BacklogFull | None = None
        self.omitted = self.omitted_rejections = 0
        self._listed = self._listed_rejections = 0

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
                self._note_rejection(record, "invalid_input", item.reason, item.field)
            elif self.refusal is not None:
                self._note_rejection(record, self.refusal.code, self.refusal.message)
            else:
                self._note_stored(record.line, item, next(answers))

    def _note_stored(self, line: int, item: Change, answer: Accepted) -> None:
        if self._listed == LISTED_OUTCOMES:
            self.omitted += 1
            return
        self._listed += 1
        status, version = record_status(item, answer), answer.version or None
        self._write(RecordOutcome(line=line, id=answer.id, status=status, version=version, error=None))

    def _note_rejection(self, record: PostedRecord, code: str, reason: str, field: str | None = None) -> None:
        if self._listed_rejections == LISTED_REJECTIONS:
            self.omitted += 1
            self.omitted_rejections += 1
            return
        self._listed_rejections += 1
        error = ErrorDetail(code=code, message=reason[:_REASON_CHARACTERS], field=field)
        self._write(RecordOutcome(line=record.line, id=record.id, status="rejected", version=None, error=error))

    def _write(self, outcome: RecordOutcome) -> None:
        try:
            self._notes.write(outcome.model_dump_json().encode() + b"\n")
        except OSError as error:
            reason = error.strerror or error
            raise Unavailable(f"could not write the outcomes of the records: {reason}") from error
