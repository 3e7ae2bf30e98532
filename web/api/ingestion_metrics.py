"""The ingestion part of `/metrics`: documents pending, indexed and failed, the queue, and the workers' counters.

The figures are collected whenever the metrics are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import TYPE_CHECKING, Final

from flask import g, has_request_context
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mappings.errors import MedleyError
from search.storage import State
from web.use_cases import counts_by_state, published_index
from workers.messages import QueueTarget

if TYPE_CHECKING:
    from search.bootstrap import Medley
    from workers.queueing.queue import Queue

CAUSES: Final = 10
CAUSE_CHARACTERS: Final = 80
_FAILURES_READ: Final = 1_000

Sample = tuple[Sequence[str], float]
"""The values of the labels, and the value of the sample."""

_GAUGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "medley_documents": ("Documents by their state in the published index", ("collection", "state")),
    "medley_waiting_oldest_seconds": ("Age of the oldest change that is not indexed", ("collection",)),
    "medley_failed_documents": ("Failed documents by cause, the most frequent causes", ("collection", "cause")),
    "medley_queue_documents": ("Documents in the queue, and claimed by workers", ("collection", "state")),
    "medley_queue_oldest_seconds": ("Age of the oldest document in the queue", ("collection",)),
}
_WORKER_COUNTERS: Final[Mapping[str, tuple[str, str]]] = {
    "documents": ("medley_worker_documents", "Documents indexed"),
    "failed": ("medley_worker_failed", "Documents failed"),
    "texts": ("medley_worker_texts", "Texts encoded"),
    "tokens": ("medley_worker_tokens", "Tokens encoded"),
    "encoding_seconds": ("medley_worker_encoding_seconds", "Seconds spent encoding"),
    "seconds": ("medley_worker_seconds", "Seconds since the worker started"),
}
"""Key of a worker's report -> name and help text of the metric."""


def _may_read_all() -> bool:
    """Whether the caller who reads the metrics can see every document."""
    return has_request_context() and "caller" in g and bool(g.caller.access.everything)


class IngestionMetrics(Collector):
    """Metrics of the stores, the queue and the workers.

    Unavailable ones are omitted: the rest is still worth reading.
    """

    def __init__(self, medley: Medley, queue: Queue | None) -> None:
        self._medley, self._queue = medley, queue

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Every metric that is available."""
        rows: dict[str, list[Sample]] = {name: [] for name in _GAUGES}
        names: list[str] = []
        with suppress(MedleyError):
            names = self._medley.collections.names()
        for name in names:
            with suppress(MedleyError):
                self._stored(name, rows)
        with suppress(MedleyError):  # if Redis is unavailable for one collection, it is for all
            for name in names if self._queue else ():
                self._queued(name, rows)
        for name, (help_text, labels) in _GAUGES.items():
            family = GaugeMetricFamily(name, help_text, labels=labels)
            _fill(family.add_metric, rows[name])
            yield family
        yield from self._worked()

    def _stored(self, name: str, rows: Mapping[str, list[Sample]]) -> None:
        store, index = self._medley.collections.store(name), published_index(self._medley, name)
        counts, oldest = store.counts(index), store.oldest(index)
        states = counts_by_state(counts)
        rows["medley_documents"] += [((name, state), count) for state, count in states.items()]
        rows["medley_waiting_oldest_seconds"].append(((name,), _age(oldest)))
        if states["failed"] and _may_read_all():  # a cause can quote a value of the document
            causes = Counter(_cause(item.cause) for item in store.states(index, State.FAILED, _FAILURES_READ))
            rows["medley_failed_documents"] += [((name, cause), count) for cause, count in _most(causes)]

    def _queued(self, name: str, rows: Mapping[str, list[Sample]]) -> None:
        assert self._queue is not None  # noqa: S101 - called only where there is one
        depth = self._queue.depth(QueueTarget(name))
        rows["medley_queue_documents"] += [((name, "queued"), depth.queued), ((name, "taken"), depth.claimed)]
        rows["medley_queue_oldest_seconds"].append(((name,), _age(depth.since)))

    def _worked(self) -> Iterator[CounterMetricFamily]:
        reports: Mapping[str, Mapping[str, float]] = {}
        if self._queue is not None:
            with suppress(MedleyError):
                reports = self._queue.reports()
        for key, (name, help_text) in _WORKER_COUNTERS.items():
            family = CounterMetricFamily(name, help_text, labels=("worker",))
            _fill(
                family.add_metric,
                [((worker,), report[key]) for worker, report in reports.items() if key in report],
            )
            yield family


def _fill(add: Callable[[Sequence[str], float], None], rows: Sequence[Sample]) -> None:
    for labels, value in rows:
        add(labels, value)


def _age(since: float | None) -> float:
    return 0.0 if since is None else max(0.0, time() - since)


def _cause(text: str) -> str:
    return " ".join(text.split())[:CAUSE_CHARACTERS]


def _most(causes: Counter[str]) -> list[tuple[str, int]]:
    return sorted(causes.items(), key=lambda item: (-item[1], item[0]))[:CAUSES]
