"""`medley bench swap`: a collection moves to another encoder while it is searched and while documents arrive."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.corpus.indexing import find_faults, index_pending, rebuild_index
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from mappings.documents import Document
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.protocols import LegsAnswer, LegsRequest
from search.query import Query
from search.settings import Settings

NAME: Final = "abstracts"
DOCUMENTS: Final = 750
ARRIVING: Final = 300
CLIENTS: Final = 3
BATCH: Final = 20
ALONE_SECONDS: Final = 2.0
"""How long the new index is searched alone at the end."""


@dataclass(slots=True)
class ClientLog:
    """What one client saw; `foreign` counts vectors of another length than the encoder that their index names has."""

    times: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    degraded: int = 0
    foreign: int = 0
    indexes: set[str] = field(default_factory=set)


def bench_swap(settings: Settings) -> Report:
    """From hashed words to the collection's own encoder, and what the clients noticed: nothing, if all is well."""
    task = scifact.task(settings, distractors=False)
    documents = list(islice(task.corpus.documents(), DOCUMENTS + ARRIVING))
    return swap(settings, documents, [question.text for question in task.questions])


def swap(settings: Settings, documents: Sequence[Document], questions: Sequence[str]) -> Report:
    """The same over any documents: about 5 of 7 are indexed before, the others arrive during the rebuild."""
    first = len(documents) * DOCUMENTS // (DOCUMENTS + ARRIVING)
    with TemporaryDirectory() as folder:
        prefix = f"{settings.opensearch_prefix}-swap-{secrets.token_hex(3)}"
        after = replace(settings, encoder="", home=Path(folder), opensearch_prefix=prefix)
        before = replace(after, encoder=HASHING)
        old, new = Medley.open(before, patient=True), Medley.open(after, patient=True)
        old.collections.create(NAME)
        old.collections.store(NAME).put(documents[:first])
        _index(old)
        started = time.perf_counter()
        move = _Move(before, after, lambda: rebuild_index(new, NAME), documents[first:])
        logs, arrived = _under_load(move, questions)
        figures = _figures(new, logs, arrived, first, time.perf_counter() - started)
        figures["findings"] = float(len(find_faults(new, NAME)))
        _clear(new)
    failures = sorted({message for item in logs for message in item.failures})[:5]
    return bench_report("swap", figures) | ({"failures": failures} if failures else {})


def _index(medley: Medley) -> None:
    for _ in index_pending(medley, NAME):
        pass


@dataclass(frozen=True, slots=True)
class _Move:
    """Settings before and after, the rebuild between them, and the documents that arrive meanwhile."""

    before: Settings
    after: Settings
    rebuild: Callable[[], None]
    arriving: Sequence[Document]


def _under_load(move: _Move, questions: Sequence[str]) -> tuple[list[ClientLog], int]:
    """What clients saw while the rebuild ran and documents arrived, and how many did."""
    stop = threading.Event()
    logs = [ClientLog() for _ in range(CLIENTS)]
    arrived: list[int] = []
    feeder = Medley.open(move.before, patient=True)  # a worker that was started with the old settings and goes on
    threads = [
        threading.Thread(target=_ask, args=(Medley.open(move.after), questions[number:], stop, logs[number]))
        for number in range(CLIENTS)
    ]
    threads.append(threading.Thread(target=_feed, args=(feeder, move.arriving, arrived, stop)))
    for thread in threads:
        thread.start()
    try:
        move.rebuild()
        threads[-1].join()
        time.sleep(ALONE_SECONDS)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return logs, sum(arrived)


def _ask(medley: Medley, questions: Sequence[str], stop: threading.Event, log: ClientLog) -> None:
    known = medley.services.engine.legs

    def checked(request: LegsRequest) -> LegsAnswer:
        wanted = medley.engine.meta(request.index).encoders
        for name, vector in request.vectors.items():
            encoder = medley.models.find_encoder(wanted[name])
            log.foreign += encoder is None or len(vector) != encoder.dimension
        return known(request)

    object.__setattr__(medley.services, "engine", _Watched(medley.engine, checked))
    while not stop.is_set():
        for question in questions:
            if stop.is_set():
                return
            started = time.perf_counter()
            try:
                results = medley.search(Query(NAME, ACCESS, question, rerank=False))
            except MedleyError as error:
                log.failures.append(error.message)
                continue
            log.times.append(1000 * (time.perf_counter() - started))
            log.degraded += bool(results.degraded)
            log.indexes.add(results.index)


class _Watched:
    """An engine whose requests for legs are checked on their way."""

    def __init__(self, engine: Any, legs: Callable[[LegsRequest], LegsAnswer]) -> None:
        self._engine, self.legs = engine, legs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _feed(medley: Medley, documents: Sequence[Document], arrived: list[int], stop: threading.Event) -> None:
    for batch in _batches(documents):
        if stop.is_set():
            return
        arrived.append(len(medley.collections.store(NAME).put(batch)))
        _index(medley)


def _batches(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    for start in range(0, len(documents), BATCH):
        yield documents[start : start + BATCH]


def _figures(medley: Medley, logs: Sequence[ClientLog], arrived: int, first: int, seconds: float) -> dict[str, float]:
    times = [value for item in logs for value in item.times]
    meta = medley.engine.meta(str(medley.engine.published(NAME)))
    return {
        "documents_before": float(first),
        "documents_arrived": float(arrived),
        "documents_after": float(meta.documents),
        "documents_missing": float(first + arrived - meta.documents),
        "searches": float(len(times)),
        "failed_searches": float(sum(len(item.failures) for item in logs)),
        "foreign_vectors": float(sum(item.foreign for item in logs)),
        "degraded_searches": float(sum(item.degraded for item in logs)),
        "indexes_seen": float(len(set().union(*(item.indexes for item in logs)))),
        "search_p50_ms": percentiles(times)["p50_ms"],
        "search_p95_ms": percentiles(times)["p95_ms"],
        "seconds": seconds,
    }


def _clear(medley: Medley) -> None:
    """Remove the indexes from a cluster; the folder is temporary."""
    if medley.settings.opensearch:
        from search.engines.opensearch.engine import OpenSearchEngine

        if isinstance(medley.engine, OpenSearchEngine):
            medley.engine.cluster.write("DELETE", f"/{medley.engine.cluster.prefix}.*")
