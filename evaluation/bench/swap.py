"""`medley bench swap`: a collection moves to another encoder while it is searched and while documents arrive."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from evaluation.bench.search import machine, percentiles
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from mappings.documents import Document
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.protocols import LegsAnswer, LegsRequest
from search.query import Query
from search.settings import Settings

Report = dict[str, Any]
Steps = Callable[[Medley, str], Iterable[Any]]
"""Ingestion or a rebuild of a collection, to be driven to its end. They lie a floor above, so the door hands them in."""

NAME: Final = "abstracts"
DOCUMENTS: Final = 750
ARRIVING: Final = 300
CLIENTS: Final = 3
BATCH: Final = 20


@dataclass(frozen=True, slots=True)
class Work:
    """What the floor above does: `fill` what waits, `rebuild` aside, and say what is wrong at the end."""

    fill: Steps
    rebuild: Steps
    findings: Callable[[Medley, str], Sequence[str]]


@dataclass(slots=True)
class Seen:
    """What the clients met; `foreign` counts vectors of another length than those of the encoder that their index names."""

    times: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    degraded: int = 0
    foreign: int = 0
    indexes: set[str] = field(default_factory=set)


def swap(settings: Settings, work: Work) -> Report:
    """From hashed words to the collection's own encoder, and what the clients saw of it: nothing, if all is well."""
    task = scifact.task(settings, distractors=False)
    documents = list(islice(task.corpus.documents(), DOCUMENTS + ARRIVING))
    return run(settings, documents, [question.text for question in task.questions], work)


def run(settings: Settings, documents: Sequence[Document], questions: Sequence[str], work: Work) -> Report:
    """The same over any documents: about 5 of 7 are there before, the others arrive during the rebuild."""
    first = len(documents) * DOCUMENTS // (DOCUMENTS + ARRIVING)
    with TemporaryDirectory() as folder:
        prefix = f"{settings.opensearch_prefix}-swap-{secrets.token_hex(3)}"
        after = replace(settings, encoder="", home=Path(folder), opensearch_prefix=prefix)
        before = replace(after, encoder=HASHING)
        old, new = Medley.open(before, patient=True), Medley.open(after, patient=True)
        old.collections.create(NAME)
        old.collections.store(NAME).put(documents[:first])
        _drive(work.fill(old, NAME))
        started = time.perf_counter()
        seen, arrived = _under_load(
            after, questions, lambda: _drive(work.rebuild(new, NAME)), before, documents[first:], work
        )
        figures = _figures(new, seen, arrived, first, time.perf_counter() - started)
        figures["findings"] = float(len(work.findings(new, NAME)))
        _clear(new)
    report = {
        "bench": "swap",
        "machine": machine(),
        "figures": {key: round(value, 4) for key, value in figures.items()},
    }
    failures = sorted({message for item in seen for message in item.failures})[:5]
    return report | ({"failures": failures} if failures else {})


def _drive(steps: Iterable[Any]) -> None:
    for _ in steps:
        pass


def _under_load(
    settings: Settings,
    questions: Sequence[str],
    move: Callable[[], None],
    before: Settings,
    arriving: Sequence[Document],
    work: Work,
) -> tuple[list[Seen], int]:
    """What clients saw while `move` ran and documents arrived, and how many did."""
    stop = threading.Event()
    seen = [Seen() for _ in range(CLIENTS)]
    arrived: list[int] = []
    feeder = Medley.open(before, patient=True)  # a worker that was started with the old settings, and goes on
    threads = [
        threading.Thread(target=_ask, args=(Medley.open(settings), questions[number:], stop, seen[number]))
        for number in range(CLIENTS)
    ]
    threads.append(threading.Thread(target=_feed, args=(feeder, arriving, arrived, stop, work)))
    for thread in threads:
        thread.start()
    try:
        move()
        threads[-1].join()
        time.sleep(2.0)  # the new index alone, for a while
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return seen, sum(arrived)


def _ask(medley: Medley, questions: Sequence[str], stop: threading.Event, seen: Seen) -> None:
    known = medley.services.engine.legs

    def checked(request: LegsRequest) -> LegsAnswer:
        wanted = medley.engine.meta(request.index).encoders
        for name, vector in request.vectors.items():
            encoder = medley.models.find_encoder(wanted[name])
            seen.foreign += encoder is None or len(vector) != encoder.dimension
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
                seen.failures.append(error.message)
                continue
            seen.times.append(1000 * (time.perf_counter() - started))
            seen.degraded += bool(results.degraded)
            seen.indexes.add(results.index)


class _Watched:
    """An engine whose legs are looked at on their way."""

    def __init__(self, engine: Any, legs: Callable[[LegsRequest], LegsAnswer]) -> None:
        self._engine, self.legs = engine, legs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _feed(medley: Medley, documents: Sequence[Document], arrived: list[int], stop: threading.Event, work: Work) -> None:
    for batch in _batches(documents):
        if stop.is_set():
            return
        arrived.append(len(medley.collections.store(NAME).put(batch)))
        _drive(work.fill(medley, NAME))


def _batches(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    for start in range(0, len(documents), BATCH):
        yield documents[start : start + BATCH]


def _figures(medley: Medley, seen: Sequence[Seen], arrived: int, first: int, seconds: float) -> dict[str, float]:
    times = [value for item in seen for value in item.times]
    meta = medley.engine.meta(str(medley.engine.published(NAME)))
    return {
        "documents_before": float(first),
        "documents_arrived": float(arrived),
        "documents_after": float(meta.documents),
        "documents_missing": float(first + arrived - meta.documents),
        "searches": float(len(times)),
        "failed_searches": float(sum(len(item.failures) for item in seen)),
        "foreign_vectors": float(sum(item.foreign for item in seen)),
        "degraded_searches": float(sum(item.degraded for item in seen)),
        "indexes_seen": float(len(set().union(*(item.indexes for item in seen)))),
        "search_p50_ms": percentiles(times)["p50_ms"],
        "search_p95_ms": percentiles(times)["p95_ms"],
        "seconds": seconds,
    }


def _clear(medley: Medley) -> None:
    """Remove what was made on a cluster; a folder goes by itself."""
    if medley.settings.opensearch:
        from search.engines.opensearch.engine import OpenSearchEngine

        if isinstance(medley.engine, OpenSearchEngine):
            medley.engine.cluster.write("DELETE", f"/{medley.engine.cluster.prefix}.*")
