"""Batches of records into a collection, and what became of each record: noted only once the store has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import IO, Any

import orjson

from mappings.documents import Deletion, Document, Rejection
from mappings.errors import MedleyError, Unavailable
from search.storage import Accepted
from web.api.upload import Sent
from web.backlog import Overloaded
from workers.delivery import Delivery

STATUSES = ("accepted", "unchanged", "stale", "deleted", "unknown", "rejected")


class Intake:
    """One delivery's records on their way; outcomes go to `notes`, a JSON line for each record, in their order.

    `check` raises `Overloaded` when no more may be taken. From then on every record is rejected, also when there is
    room again: the sender sends the rest again, and of one id the last must win then, too.
    """

    def __init__(self, delivery: Delivery, check: Callable[[], None], notes: IO[bytes]) -> None:
        self._delivery, self._check, self._notes = delivery, check, notes
        self.overloaded: Overloaded | None = None
        self.counts = Counter(dict.fromkeys(STATUSES, 0))

    def take(self, batches: Iterable[list[Sent]]) -> None:
        """Take all. Raises what the batches and the store raise; the job says that it was broken off then, and why."""
        try:
            for batch in batches:
                self._note(batch, self._taken(batch))
        except MedleyError as error:
            with suppress(MedleyError):  # the store itself may be down
                self._delivery.finish(broken=True)
            told = copy(error)
            job = self._delivery.job.id
            told.message = f"{error.message}; what was taken before stays, and may be sent again: job {job}"
            raise told from error
        self._delivery.finish()

    def _taken(self, batch: Sequence[Sent]) -> list[Accepted]:
        self._look()
        changes = [sent.item for sent in batch if isinstance(sent.item, Document | Deletion)]
        done = [] if self.overloaded or not changes else list(self._delivery.accept(changes))
        if rejected := len(batch) - len(done):
            self._delivery.reject(rejected)
        return done

    def _look(self) -> None:
        try:
            self._check()
        except Overloaded as error:
            self.overloaded = self.overloaded or error

    def _note(self, batch: Sequence[Sent], done: Sequence[Accepted]) -> None:
        left = iter(done)
        for sent in batch:
            if isinstance(sent.item, Rejection):
                outcome = _rejected(sent, "invalid_input", sent.item.reason, sent.item.field)
            elif self.overloaded is not None:
                outcome = _rejected(sent, self.overloaded.code, self.overloaded.message, None)
            else:
                outcome = {"line": sent.line, **outcome_of(sent.item, next(left)), "error": None}
            self.counts[outcome["status"]] += 1
            self._write(orjson.dumps(outcome) + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self._notes.write(line)
        except OSError as error:
            raise Unavailable(f"what became of the records can't be written down: {error.strerror or error}") from error


def outcome_of(change: Document | Deletion, done: Accepted) -> dict[str, Any]:
    """What became of a change that the store was given."""
    if done.stale:
        status = "stale"
    elif isinstance(change, Deletion):
        status = "deleted" if done.changed else "unknown"
    else:
        status = "accepted" if done.changed else "unchanged"
    return {"id": done.id, "status": status, "version": done.version or None}


def _rejected(sent: Sent, code: str, message: str, field: str | None) -> dict[str, Any]:
    error = {"code": code, "message": message, "field": field}
    return {"line": sent.line, "id": sent.id, "status": "rejected", "version": None, "error": error}
