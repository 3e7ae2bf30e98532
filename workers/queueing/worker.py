"""What a worker does: index documents that were announced, read files, and sweep up what was lost."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from mappings.documents import Deletion, Document, Rejection
from mappings.errors import MedleyError, NotFound
from search import settings
from search.bootstrap import Medley
from search.engines.names import split_index
from search.storage import State, StateRecord
from workers.delivery import Delivery
from workers.indexing import rebuild as rebuilds
from workers.indexing.batches import Outcome, Work
from workers.indexing.ingest import Options, ingest
from workers.queueing.queue import SLICE, TAKEN_SECONDS, Queue, require_queue, slices

PARTS: Final = 8
"""In how many parts the ids of a task go on after their worker died over them: three deaths lead to one document of 512."""

DEATHS: Final = 2
"""A document that was alone in a task when its worker died so often is a failure of its own."""

ALONE_AFTER: Final = 3
"""After so many workers fell silent over it a document goes alone: 512, 64, 8, 1."""

SWEPT: Final = 50_000
"""Documents that one sweep looks at, the oldest first."""

ASIDE: Final = "index:"
"""Before the name of an index that is being built, in the place of a collection's in a message."""

_RENEW_SECONDS: Final = TAKEN_SECONDS / 4
_LOCK_SECONDS: Final = 60.0
_READ: Final = 500

_log = logging.getLogger("medley.worker")


class Duty:
    """A worker's work over one open Medley and the queue."""

    def __init__(self, medley: Medley, queue: Queue, name: str = "worker") -> None:
        self.medley, self.queue, self.name = medley, queue, name
        self.work = Work()
        self._since = time.monotonic()

    def index(self, target: str, ids: Sequence[str], task: str) -> None:
        """Index `ids` of a collection in its published index. Raises `Unavailable` when a part of the house is down.

        A task that begins for a second time is one whose worker died: its ids go on apart, until the one that kills
        workers stands alone, and is recorded as failed.
        """
        version = self._version(target, ids[0]) if len(ids) == 1 else 0
        if len(ids) == 1 and not version:
            self.queue.take(target, ids)
            self.queue.let_go(target, ids)  # it was done meanwhile
            return
        count = f"{task}:{version}" if version else task  # a newer version is not to blame for what an older one did
        starts = max(self.queue.starts(count), self._silenced(target, ids))
        if starts > 1 and len(ids) > 1:
            _log.warning("task %s: its worker died; its %d documents go on in %d parts", task, len(ids), PARTS)
            for part in slices(ids, -(-len(ids) // PARTS)):
                self.queue.send(target, part)
        elif starts > DEATHS:
            self._give_up(target, ids[0], version, starts - 1)
        else:
            with self._at(target, ids):
                self._index(target, ids)
        self.queue.ended(count)

    def _silenced(self, target: str, ids: Sequence[str]) -> int:
        """At which start a document alone is, by the workers that fell silent over it whole, message and all; else 0."""
        deaths = self.queue.deaths(target, ids)[0] if len(ids) == 1 else 0
        return max(0, deaths - ALONE_AFTER + 1)

    def _index(self, target: str, ids: Sequence[str]) -> None:
        started, count, failed = time.perf_counter(), 0, 0
        for outcome in self._outcomes(target, ids):
            count += 1
            failed += bool(outcome.cause)
            if outcome.cause:
                _log.warning("%s: %s version %d failed: %s", target, outcome.id, outcome.version, outcome.cause)
        seconds = time.perf_counter() - started
        _log.info("%s: %d of %d documents settled in %.2f s, %d failed", target, count, len(ids), seconds, failed)
        self._report()

    def _outcomes(self, target: str, ids: Sequence[str]) -> Iterator[Outcome]:
        medley, options = self.medley, Options(wait=_LOCK_SECONDS, find=self.medley.encoder_of, work=self.work)
        name, index = place(target)
        store, collection = medley.store(name), medley.collection(name)
        if index is None:
            yield from ingest(store, medley.engine, medley.encoders(collection), collection, ids, options)
            return
        try:
            encoders = rebuilds.own_encoders(medley.engine.meta(index), options)
            yield from rebuilds.fill(store, medley.engine, index, encoders, collection, ids, options)
            self._finish(name, index)
        except NotFound:
            _log.info("%s is gone: nothing is to be filled any more", target)

    def _version(self, target: str, identifier: str) -> int:
        """The version of a document that waits; 0 where none does."""
        name, index = place(target)
        index = index or self.medley.engine.published(name) or ""
        return next((version for _, version in self.medley.store(name).pending(index, 1, [identifier])), 0)

    def _first_index(self, name: str) -> str:
        """The first index of a collection, made and published."""
        medley, collection = self.medley, self.medley.collection(name)
        for _ in ingest(medley.store(name), medley.engine, medley.encoders(collection), collection, ()):
            pass
        return medley.engine.resolve(name).index

    def _give_up(self, target: str, identifier: str, version: int, deaths: int) -> None:
        """Record a document that kills workers as failed; it goes back to the queue by `medley retry`, or when it changes."""
        name, index = place(target)
        store = self.medley.store(name)
        index = index or self.medley.engine.published(name) or self._first_index(name)
        cause = f"a worker died {deaths} times while it was at this document alone"
        with self.medley.engine.writer(index, _LOCK_SECONDS) as writer:
            if self._version(target, identifier) != version:
                return  # a newer one came; it has a message of its own
            # An earlier version of what can't be indexed must not stay to be found.
            writer.remove([identifier])
            writer.commit()
            store.settle(index, [StateRecord(identifier, version, State.FAILED, cause=cause)])
        self.queue.let_go(target, [identifier])
        _log.error("%s: %s version %d failed: %s", target, identifier, version, cause)

    @contextmanager
    def _at(self, target: str, ids: Sequence[str]) -> Iterator[None]:
        """Note that we are at these documents, as long as we live."""
        self.queue.take(target, ids)
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
            with suppress(MedleyError):  # then the notes run out by themselves
                self.queue.let_go(target, ids)

    def parse(self, collection: str, path: str, format_name: str) -> None:
        """Read a file or folder into the store. Raises `InvalidInput` for one that can't be read."""
        from mappings.formats.registry import read

        delivery = Delivery(self.medley.store(collection), collection, self.queue)
        records = read(Path(path), format_name, self.medley.collection(collection))
        while batch := list(islice(records, _READ)):
            delivery.take([item for item in batch if isinstance(item, Document | Deletion)])
            rejected = [item for item in batch if isinstance(item, Rejection)]
            delivery.reject(len(rejected))
            for item in rejected:
                _log.warning("%s: rejected %s, %s: %s", collection, item.source, item.position, item.reason)
        job = delivery.finish()
        _log.info("%s: job %s: %s", collection, job.id, delivery.counts)

    def sweep(self, collections: Sequence[str] | None = None) -> int:
        """Announce every document that waits, and that neither a message nor a living worker is at; how many.

        Rebuilds that are filled are published, and what they replaced is dropped. Raises when not one collection could be
        swept, as without Redis.
        """
        names = self.medley.names() if collections is None else collections
        announced, errors = 0, []
        for name in names:
            try:
                announced += self._sweep(name)
            except MedleyError as error:  # one that is not well must not keep the others waiting
                _log.error("%s could not be swept: %s", name, error.message)
                errors.append(error)
        if errors and len(errors) == len(names):
            raise errors[0]
        return announced

    def _sweep(self, collection: str) -> int:
        store, engine = self.medley.store(collection), self.medley.engine
        index = engine.published(collection) or ""  # nothing was indexed yet: all is waiting
        announced = self._announce(collection, [name for name, _ in store.pending(index, SWEPT)])
        for name in rebuilds.building(store, engine, collection):
            waiting = [found for found, _ in store.pending(name, SWEPT)]
            if waiting:
                announced += self._announce(f"{ASIDE}{name}", waiting)
            else:
                announced += self._finish(collection, name)
        for name in rebuilds.retire(store, engine, collection):
            _log.info("%s: %s was replaced, and is dropped", collection, name)
        return announced

    def _finish(self, collection: str, index: str) -> int:
        """Publish a built index if it is whole, and announce what arrived at the last moment; how many."""
        store = self.medley.store(collection)
        if not rebuilds.finish(store, self.medley.engine, index, self.medley.collection(collection)):
            return 0
        _log.info("%s answers from %s from now on", collection, index)
        return self._announce(collection, [found for found, _ in store.pending(index, SWEPT)])

    def _announce(self, target: str, waiting: Sequence[str]) -> int:
        lost = self.queue.lost(target, waiting) if waiting else []
        if lost:
            _log.info("%s: %d documents wait and are in nobody's hands: announced again", target, len(lost))
            # The more workers fell silent over a document, the fewer others go with it.
            for deaths, names in _by_deaths(lost, self.queue.deaths(target, lost)).items():
                self.queue.announce(target, names, size=max(1, SLICE // PARTS**deaths))
        return len(lost)

    def _report(self) -> None:
        """Show what this process did; the figures are those since it began."""
        with suppress(MedleyError):
            self.queue.report(
                self.name,
                {
                    "documents": self.work.documents,
                    "failed": self.work.failed,
                    "texts": self.work.texts,
                    "tokens": self.work.tokens,
                    "encoding_seconds": self.work.encoding,
                    "seconds": time.monotonic() - self._since,
                },
            )


def _by_deaths(ids: Sequence[str], deaths: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name, count in zip(ids, deaths, strict=True):
        found.setdefault(min(count, ALONE_AFTER), []).append(name)
    return found


def place(target: str) -> tuple[str, str | None]:
    """(collection, index) that a message is for; None: whichever index is published."""
    if not target.startswith(ASIDE):
        return target, None
    index = target.removeprefix(ASIDE)
    return split_index(index)[0], index


@cache
def at_work() -> Duty:
    """This process's duty; made when its first task comes, so after the fork, and with it the models."""
    read = settings.read()
    return Duty(Medley.open(read, patient=True), require_queue(read), f"{socket.gethostname()}-{os.getpid()}")
