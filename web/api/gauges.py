"""What waits, what is indexed, what failed and what the workers did, asked for when somebody reads the metrics."""

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
from web.backlog import published
from workers.messages import QueueTarget

if TYPE_CHECKING:
    from search.bootstrap import Medley
    from workers.queueing.queue import Queue

CAUSES: Final = 10
CAUSE_CHARACTERS: Final = 80
_LOOKED_AT: Final = 1_000

Row = tuple[Sequence[str], float]
"""The labels' values of a figure, and the figure."""

GAUGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "medley_documents": ("Documents by what the index made of them", ("collection", "state")),
    "medley_waiting_oldest_seconds": ("Age of the oldest change that is not indexed", ("collection",)),
    "medley_failed_documents": ("Failed documents by cause, the most frequent", ("collection", "cause")),
    "medley_queue_documents": ("Documents on their way to the workers, and at them", ("collection", "state")),
    "medley_queue_oldest_seconds": ("Age of the oldest document in the queue", ("collection",)),
}
WORKED: Final[Mapping[str, tuple[str, str]]] = {
    "documents": ("medley_worker_documents", "Documents indexed"),
    "failed": ("medley_worker_failed", "Documents failed"),
    "texts": ("medley_worker_texts", "Texts encoded"),
    "tokens": ("medley_worker_tokens", "Tokens encoded"),
    "encoding_seconds": ("medley_worker_encoding_seconds", "Seconds spent encoding"),
    "seconds": ("medley_worker_seconds", "Seconds since the worker began"),
}
"""Figure of a worker's report -> its name and meaning here."""


def _may_read_all() -> bool:
    """Whether whoever reads the metrics may see every document."""
    return has_request_context() and "caller" in g and bool(g.caller.access.everything)


class Gauges(Collector):
    """Figures of the stores and of the queue. What can't be asked now is left out: the rest is still worth reading."""

    def __init__(self, medley: Medley, queue: Queue | None) -> None:
        self._medley, self._queue = medley, queue

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Every figure that can be had."""
        rows: dict[str, list[Row]] = {name: [] for name in GAUGES}
        names: list[str] = []
        with suppress(MedleyError):
            names = self._medley.collections.names()
        for name in names:
            with suppress(MedleyError):
                self._stored(name, rows)
        with suppress(MedleyError):  # when Redis is down for one it is for all
            for name in names if self._queue else ():
                self._queued(name, rows)
        for name, (meaning, labels) in GAUGES.items():
            family = GaugeMetricFamily(name, meaning, labels=labels)
            _fill(family.add_metric, rows[name])
            yield family
        yield from self._worked()

    def _stored(self, name: str, rows: Mapping[str, list[Row]]) -> None:
        store, index = self._medley.collections.store(name), published(self._medley, name)
        counts, oldest = store.counts(index), store.oldest(index)
        states = {state: counts.states.get(state, 0) for state in (State.INDEXED, State.FAILED)}
        shown = {"indexed": states[State.INDEXED], "waiting": counts.waiting, "failed": states[State.FAILED]}
        rows["medley_documents"] += [((name, state), count) for state, count in shown.items()]
        rows["medley_waiting_oldest_seconds"].append(((name,), _age(oldest)))
        if states[State.FAILED] and _may_read_all():  # a cause may quote a value of the document
            causes = Counter(_cause(item.cause) for item in store.states(index, State.FAILED, _LOOKED_AT))
            rows["medley_failed_documents"] += [((name, cause), count) for cause, count in _most(causes)]

    def _queued(self, name: str, rows: Mapping[str, list[Row]]) -> None:
        assert self._queue is not None  # noqa: S101 - asked for only where there is one
        depth = self._queue.depth(QueueTarget(name))
        rows["medley_queue_documents"] += [((name, "queued"), depth.queued), ((name, "taken"), depth.claimed)]
        rows["medley_queue_oldest_seconds"].append(((name,), _age(depth.since)))

    def _worked(self) -> Iterator[CounterMetricFamily]:
        reports: Mapping[str, Mapping[str, float]] = {}
        if self._queue is not None:
            with suppress(MedleyError):
                reports = self._queue.reports()
        for figure, (name, meaning) in WORKED.items():
            family = CounterMetricFamily(name, meaning, labels=("worker",))
            _fill(
                family.add_metric,
                [((worker,), report[figure]) for worker, report in reports.items() if figure in report],
            )
            yield family


def _fill(add: Callable[[Sequence[str], float], None], rows: Sequence[Row]) -> None:
    for labels, value in rows:
        add(labels, value)


def _age(since: float | None) -> float:
    return 0.0 if since is None else max(0.0, time() - since)


def _cause(text: str) -> str:
    return " ".join(text.split())[:CAUSE_CHARACTERS]


def _most(causes: Counter[str]) -> list[tuple[str, int]]:
    return sorted(causes.items(), key=lambda item: (-item[1], item[0]))[:CAUSES]
