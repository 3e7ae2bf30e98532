"""The tasks of a worker: indexing announced documents, reading files, and sweeping up orphaned documents."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Final

from mappings.documents import Deletion, Document, Rejection
from mappings.errors import MedleyError, NotFound
from search import settings
from search.bootstrap import Medley
from workers.delivery import Delivery
from workers.indexing.batches import DocumentBatch, Outcome
from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
from workers.indexing.ingest import ensure_index, ingest
from workers.indexing.purge import apply_retention
from workers.indexing.rebuild import fill_aside
from workers.indexing.recovery import ALONE_AFTER, SPLIT, publish_and_catch_up, recover
from workers.indexing.writing import BatchWriter
from workers.messages import QueueTarget, split_ids
from workers.queueing.queue import CLAIM_SECONDS, Queue, require_queue

DEATHS: Final = 2
"""A document is recorded as failed after so many workers died while they were indexing it alone."""

_RENEW_SECONDS: Final = CLAIM_SECONDS / 4
_LOCK_SECONDS: Final = 60.0
_READ_RECORDS: Final = 500

_log = logging.getLogger("medley.worker")


class IndexWorker:
    """Carries out a worker's tasks over one open Medley and the queue."""

    def __init__(self, medley: Medley, queue: Queue, name: str = "worker") -> None:
        self.medley, self.queue, self.name = medley, queue, name
        self.statistics = IndexingStatistics()
        self._since = time.monotonic()

    def index(self, target: QueueTarget, ids: Sequence[str], task: str) -> None:
        """Index `ids` in the target. Raises `Unavailable` when a dependency is unavailable.

        If a task starts a second time, its worker died. Its ids are then split into several messages, until the document
        that kills workers is alone in one and is recorded as failed. What is queued for a deleted collection is dropped.
        """
        try:
            self._take(target, ids, task)
        except MedleyError:
            if target.collection in self.medley.collections.names():
                raise
            _log.info("%s: the collection was deleted: nothing is left to index", target)
            self.queue.claim(target, ids)
            self.queue.release(target, ids)
            self.queue.forget_starts(task)

    def _take(self, target: QueueTarget, ids: Sequence[str], task: str) -> None:
        version = self._pending_version(target, ids[0]) if len(ids) == 1 else 0
        if len(ids) == 1 and not version:
            self.queue.claim(target, ids)
            self.queue.release(target, ids)  # it was indexed in the meantime
            return
        count = f"{task}:{version}" if version else task  # deaths of an older version do not count for a newer one
        starts = max(self.queue.count_start(count), self._starts_by_deaths(target, ids))
        if starts > 1 and len(ids) > 1:
            _log.warning("task %s: its worker died; its %d documents are split into %d messages", task, len(ids), SPLIT)
            for part in split_ids(ids, -(-len(ids) // SPLIT)):
                self.queue.send(target, part)
        elif starts > DEATHS:
            self._give_up(target, ids[0], version, starts - 1)
        else:
            with self._claimed(target, ids):
                self._index(target, ids)
        self.queue.forget_starts(count)

    def _starts_by_deaths(self, target: QueueTarget, ids: Sequence[str]) -> int:
        """The number of this start of a document on its own, inferred from worker deaths; 0 for several ids."""
        deaths = self.queue.deaths(target, ids)[0] if len(ids) == 1 else 0
        return max(0, deaths - ALONE_AFTER + 1)

    def _index(self, target: QueueTarget, ids: Sequence[str]) -> None:
        started, count, failed = time.perf_counter(), 0, 0
        for outcome in self._outcomes(target, ids):
            count += 1
            failed += bool(outcome.cause)
            if outcome.cause:
                _log.warning("%s: %s version %d failed: %s", target, outcome.id, outcome.version, outcome.cause)
        seconds = time.perf_counter() - started
        _log.info("%s: %d of %d documents settled in %.2f s, %d failed", target, count, len(ids), seconds, failed)
        self._report()

    def _outcomes(self, target: QueueTarget, ids: Sequence[str]) -> Iterator[Outcome]:
        indexer = self._indexer(target)
        if target.index is None:
            yield from ingest(indexer, ids)
            return
        try:
            yield from fill_aside(indexer, target.index, ids)
            publish_and_catch_up(indexer, self.queue, target.index)
        except NotFound:
            _log.info("%s was dropped: there is nothing left to fill", target)

    def _indexer(self, target: QueueTarget) -> Indexer:
        """The indexer of a target. For an index that is being built, the encoders are looked up later."""
        options = IndexingOptions(wait=_LOCK_SECONDS, statistics=self.statistics)
        return Indexer.of(self.medley, target.collection, options, None if target.index is None else {})

    def _pending_version(self, target: QueueTarget, identifier: str) -> int:
        """The pending version of a document; 0 if none is."""
        index = target.index or self.medley.engine.published(target.collection) or ""
        pending = self.medley.collections.store(target.collection).pending(index, 1, [identifier])
        return next((version for _, version in pending), 0)

    def _give_up(self, target: QueueTarget, identifier: str, version: int, deaths: int) -> None:
        """Record a document that kills workers as failed; `medley retry` or a new version queues it again."""
        index = target.index or self.medley.engine.published(target.collection)
        index = index or ensure_index(self._indexer(target)).index
        cause = f"a worker died {deaths} times while it was indexing this document alone"
        failure = DocumentBatch(failed=(Outcome.failure(identifier, version, cause),))
        open_writer = partial(self.medley.engine.writer, index, _LOCK_SECONDS)
        if not BatchWriter(self.medley.collections.store(target.collection), index, open_writer).write(failure):
            return  # a newer version has arrived, with a message of its own
        self.queue.release(target, [identifier])
        _log.error("%s: %s version %d failed: %s", target, identifier, version, cause)

    @contextmanager
    def _claimed(self, target: QueueTarget, ids: Sequence[str]) -> Iterator[None]:
        """Claim these documents during the block, renewing the claim while this process lives."""
        self.queue.claim(target, ids)
        done = threading.Event()

        def renew() -> None:
            while not done.wait(_RENEW_SECONDS):
                with suppress(MedleyError):
                    self.queue.renew(target, ids)

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            with suppress(MedleyError):  # then the claim expires by itself
                self.queue.release(target, ids)

    def parse(self, collection: str, path: str, format_name: str) -> None:
        """Read a file or folder into the store. Raises `InvalidInput` if it cannot be read."""
        from mappings.formats.registry import read

        if collection not in self.medley.collections.names():
            _log.warning("%s was not read: there is no collection %r any more", path, collection)
            return
        delivery = Delivery(self.medley.collections.store(collection), collection, self.queue)
        records = read(Path(path), format_name, self.medley.collections.get(collection))
        while batch := list(islice(records, _READ_RECORDS)):
            delivery.accept([item for item in batch if isinstance(item, Document | Deletion)])
            rejected = [item for item in batch if isinstance(item, Rejection)]
            delivery.reject(len(rejected))
            for item in rejected:
                _log.warning("%s: rejected %s, %s: %s", collection, item.source, item.position, item.reason)
        job = delivery.finish()
        if delivery.dropped:
            _log.warning("%s: not kept, since the kind has no such fields: %s", collection, delivery.dropped)
        _log.info("%s: job %s: %s", collection, job.id, delivery.counts)

    def sweep(self, collections: Sequence[str] | None = None) -> int:
        """Recover all collections, or those given (see `recover`). Returns how many documents were announced.

        Raises if not a single collection could be swept, for example because Redis is unavailable.
        """
        names = self.medley.collections.names() if collections is None else collections
        announced, errors = 0, []
        for name in names:
            try:
                indexer = Indexer.of(self.medley, name, encoders={})
                announced += recover(indexer, self.queue)
                apply_retention(indexer, self.medley.settings, queued=True)
            except MedleyError as error:  # an error in one collection must not stop the others
                _log.error("could not sweep %s: %s", name, error.message)
                errors.append(error)
        if errors and len(errors) == len(names):
            raise errors[0]
        return announced

    def _report(self) -> None:
        """Report the figures of this process since its start."""
        done = self.statistics
        with suppress(MedleyError):
            self.queue.report(
                self.name,
                {
                    "documents": done.documents,
                    "failed": done.failed,
                    "texts": done.texts,
                    "tokens": done.tokens,
                    "encoding_seconds": done.encoding_seconds,
                    "seconds": time.monotonic() - self._since,
                },
            )


@cache
def current_worker() -> IndexWorker:
    """The worker of this process, created with its models at the first task, and so after the fork."""
    read = settings.read()
    name = f"{socket.gethostname()}-{os.getpid()}"
    return IndexWorker(Medley.open(read, patient=True), require_queue(read), name)
