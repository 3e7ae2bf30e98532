"""Celery's tasks: each a few lines around `IndexWorker`, which does the work without Celery, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task, shared_task

from search.tracing import spans
from workers.messages import QueueTarget
from workers.queueing.app import INDEX_TASK, PARSE_TASK, SWEEP_TASK
from workers.queueing.logs import REQUEST
from workers.queueing.worker import current_worker


@contextmanager
def log_request(task: Task, collection: str) -> Iterator[None]:
    """Let every line of the log name the request that the task came from, and its spans belong to the trace of that."""
    token = REQUEST.set(str(task.request.get("asked") or "-"))
    carrier = {name: str(value) for name in (spans.TRACEPARENT,) if (value := task.request.get(name))}
    try:
        with spans.span(str(task.name), {"medley.collection": collection}, "consumer", carrier):
            yield
    finally:
        REQUEST.reset(token)


@shared_task(name=INDEX_TASK, bind=True)
def index(self: Task, target: str, ids: list[str]) -> None:
    """Index documents; what can't be done now stays pending, and the sweeper announces it again."""
    parsed = QueueTarget.parse(target)
    with log_request(self, parsed.collection):
        current_worker().index(parsed, ids, self.request.id)


@shared_task(name=PARSE_TASK, bind=True)
def parse(self: Task, collection: str, path: str, format_name: str) -> None:
    """Read a file that lies where this worker sees it into the store, and announce what is new."""
    with log_request(self, collection):
        current_worker().parse(collection, path, format_name)


@shared_task(name=SWEEP_TASK)
def sweep() -> None:
    """Announce what is orphaned, and finish rebuilds that are filled."""
    current_worker().sweep()
