"""Changes on their way into the store: counted, recorded as a job, and announced to the queue once they are safe."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mappings.documents import Document
from search.storage import Accepted, Change, DocumentStore, Job
from workers.messages import QueueTarget
from workers.queueing.queue import Queue


class Delivery:
    """One delivery to one collection. What `accept` returned is safe, whatever happens afterwards."""

    def __init__(self, store: DocumentStore, collection: str, queue: Queue | None = None, request: str = "") -> None:
        self._store, self._target, self._queue, self._request = store, QueueTarget(collection), queue, request
        self._announced = queue is not None
        # The collection is part of a job's name, as whoever requests the job knows nothing else of it.
        self.job = Job(f"{collection}.{secrets.token_hex(8)}", time.time())
        store.keep_job(self.job)

    def accept(self, changes: Sequence[Change]) -> Sequence[Accepted]:
        """Accept changes, in order; one result for each. Raises what `DocumentStore.put` raises."""
        done = self._store.put(changes, self.job.id)
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
            changed = [item.id for item in done if item.changed]
            self._announced = self._queue.announce(self._target, changed, self._request)
        return done

    def reject(self, count: int) -> None:
        """Count records that were not accepted."""
        self._count({"rejected": count})

    def finish(self, broken: bool = False) -> Job:
        """Record that nothing more comes; `broken`: although more should have come."""
        self.job = replace(self.job, finished=time.time(), broken=broken)
        self._store.keep_job(self.job)
        return self.job

    @property
    def queued(self) -> bool:
        """Whether all that was accepted is in the queue. After one failure the rest is left to the sweeper: no batch waits."""
        return self._announced

    @property
    def counts(self) -> dict[str, int]:
        """What became of the records so far."""
        names = ("accepted", "unchanged", "stale", "deleted", "rejected")
        return {name: getattr(self.job, name) for name in names}

    def _count(self, more: Mapping[str, int]) -> None:
        self.job = replace(self.job, **{name: getattr(self.job, name) + count for name, count in more.items()})
        self._store.keep_job(self.job)
