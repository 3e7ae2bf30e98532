"""A collection that is searched and fed while something happens to what it depends on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from evaluation.corpus.indexing import find_faults, index_pending
from evaluation.stages import ACCESS
from mappings.documents import Document
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

CLIENTS: Final = 2
BATCH: Final = 10
DELIVERY_PAUSE: Final = 0.5
SEARCH_PAUSE: Final = 0.1
"""Seconds between two deliveries, and between two searches of a client: nodes that start need some of the machine, too."""


@dataclass(slots=True)
class LoadLog:
    """What clients saw: milliseconds of each search that was answered, why others were not, and what was accepted.

    `interruptions` are errors of indexing, after which it was started again.
    """

    times: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    degraded: int = 0
    accepted: list[str] = field(default_factory=list)
    interruptions: list[str] = field(default_factory=list)

    def __add__(self, other: LoadLog) -> LoadLog:
        return LoadLog(
            self.times + other.times,
            self.failures + other.failures,
            self.degraded + other.degraded,
            self.accepted + other.accepted,
            self.interruptions + other.interruptions,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """Clients that ask `questions` of the collection `name`, and a worker that gets `documents`."""

    settings: Settings
    name: str
    questions: Sequence[str]
    documents: Iterator[Document]

    def during(self, event: Callable[[], None]) -> LoadLog:
        """Search and feed while `event` runs, which this thread does."""
        stop = threading.Event()
        logs = [LoadLog() for _ in range(CLIENTS + 1)]
        searching = [(self._search, Medley.open(self.settings), log) for log in logs[1:]]
        steps = [(self._feed, Medley.open(self.settings, patient=True), logs[0]), *searching]
        threads = [threading.Thread(target=step, args=(medley, log, stop)) for step, medley, log in steps]
        for thread in threads:
            thread.start()
        try:
            event()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        return sum(logs, LoadLog())

    def _search(self, medley: Medley, log: LoadLog, stop: threading.Event) -> None:
        while not stop.is_set():
            for question in self.questions:
                if stop.is_set():
                    return
                stop.wait(SEARCH_PAUSE)
                started = time.perf_counter()
                try:
                    results = medley.search(Query(self.name, ACCESS, question, rerank=False))
                except MedleyError as error:
                    log.failures.append(error.message)
                    continue
                log.times.append(1000 * (time.perf_counter() - started))
                log.degraded += bool(results.degraded)

    def _feed(self, medley: Medley, log: LoadLog, stop: threading.Event) -> None:
        store = medley.collections.store(self.name)
        while not stop.is_set():
            batch = list(islice(self.documents, BATCH))
            store.put(batch)
            log.accepted += [document.id for document in batch]
            try:
                for _ in index_pending(medley, self.name):
                    pass
            except MedleyError as error:
                log.interruptions.append(error.message)
            stop.wait(DELIVERY_PAUSE)


def find_lost(medley: Medley, name: str, accepted: Sequence[str]) -> list[str]:
    """Index what is still pending; then the accepted documents that are not in the index, and all other findings."""
    for _ in index_pending(medley, name):
        pass
    index = str(medley.engine.published(name))
    held = {document for document, _, _ in medley.engine.contents(index)}
    return [*(name for name in accepted if name not in held), *find_faults(medley, name)]
