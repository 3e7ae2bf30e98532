"""Stores a delivery of changes: counts them, records them as a job, and announces them to the queue once stored.

It also counts the values that documents arrived with and could not keep, because their kind does not declare such fields.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mappings.documents import Document
from search.storage import Accepted, Change, DocumentStore, Job
from workers.messages import QueueTarget
from workers.queueing.queue import Queue

NAMED_DROPPED: Final = 1_000
"""How many names of dropped fields a delivery counts one by one; the others are counted together."""

OTHER_DROPPED: Final = "…"
"""The name under which the others are counted: a document counts once for each of its names."""


class Delivery:
    """One delivery to one collection. Changes are durable when `accept` returns."""

    def __init__(self, store: DocumentStore, collection: str, queue: Queue | None = None, request: str = "") -> None:
        self._store, self._target, self._queue, self._request = store, QueueTarget(collection), queue, request
        self._announced = queue is not None
        self._dropped: Counter[str] = Counter()
        # A job's id contains its collection, because requests for the job name nothing else.
        self.job = Job(f"{collection}.{secrets.token_hex(8)}", time.time())
        store.keep_job(self.job)

    def accept(self, changes: Sequence[Change]) -> Sequence[Accepted]:
        """Store changes, in order; returns one result per change. Raises the errors of `DocumentStore.put`."""
        done = self._put(changes)
        self._count_dropped(changes)
        documents = [isinstance(change, Document) for change in changes]
        kept = [item for item, is_document in zip(done, documents, strict=True) if is_document and not item.stale]
        self._count(
            {
                "accepted": len(kept),
                "unchanged": sum(not item.changed for item in kept),
                "stale": sum(item.stale for item in done),
                "deleted": sum(item.changed for item, put in zip(done, documents, strict=True) if not put),
            }
        )
        if self._queue is not None and self._announced:
            # A version above 1 replaces or deletes what searches have shown.
            urgent = [item.id for item in done if item.changed and item.version > 1]
            others = [item.id for item in done if item.changed and item.version == 1]
            self._announced = self._queue.announce_urgent(self._target, urgent, self._request)
            self._announced = self._announced and self._queue.announce(self._target, others, self._request)
        return done

    def _put(self, changes: Sequence[Change]) -> Sequence[Accepted]:
        """Store changes; of equal ones of an id that follow each other, the store gets the first: the rest change nothing."""
        newest: dict[str, tuple[Change, int]] = {}
        fresh: list[Change] = []
        places: list[tuple[int, bool]] = []
        for change in changes:
            known, place = newest.get(change.id, (None, 0))
            if not (repeated := known == change):
                place = len(fresh)
                newest[change.id] = change, place
                fresh.append(change)
            places.append((place, repeated))
        done = self._store.put(fresh, self.job.id)
        return [replace(done[place], changed=False) if repeated else done[place] for place, repeated in places]

    def reject(self, count: int) -> None:
        """Count records that were not accepted."""
        self._count({"rejected": count})

    def finish(self, broken: bool = False) -> Job:
        """Record the end of the delivery; `broken` means that it ended early."""
        self.job = replace(self.job, finished=time.time(), broken=broken)
        self._store.keep_job(self.job)
        return self.job

    @property
    def queued(self) -> bool:
        """Whether every accepted change was queued.

        After one failure the rest is left to the sweeper, so that no batch waits.
        """
        return self._announced

    @property
    def counts(self) -> dict[str, int]:
        """The outcomes of the records so far, counted."""
        names = ("accepted", "unchanged", "stale", "deleted", "rejected")
        return {name: getattr(self.job, name) for name in names}

    @property
    def dropped(self) -> dict[str, int]:
        """The names of values that were not kept, because the kind has no such fields: in how many documents, most first."""
        return dict(sorted(self._dropped.items(), key=lambda item: (-item[1], item[0])))

    def _count_dropped(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for name in change.dropped if isinstance(change, Document) else ():
                is_listed = name in self._dropped or len(self._dropped) < NAMED_DROPPED
                self._dropped[name if is_listed else OTHER_DROPPED] += 1

    def _count(self, more: Mapping[str, int]) -> None:
        self.job = replace(self.job, **{name: getattr(self.job, name) + count for name, count in more.items()})
        self._store.keep_job(self.job)
