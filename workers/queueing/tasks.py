"""Celery's tasks: each a few lines around `IndexWorker`, which does the work without Celery, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task, shared_task

from workers.messages import QueueTarget
from workers.queueing.app import INDEX_TASK, PARSE_TASK, SWEEP_TASK
from workers.queueing.logs import REQUEST
from workers.queueing.worker import current_worker


@contextmanager
def log_request(task: Task) -> Iterator[None]:
    """Let every line of the log name the request that the task came from."""
    token = REQUEST.set(str(task.request.get("asked") or "-"))
    try:
        yield
    finally:
        REQUEST.reset(token)


@shared_task(name=INDEX_TASK, bind=True)
def index(self: Task, target: str, ids: list[str]) -> None:
    """Index documents; what can't be done now stays pending, and the sweeper announces it again."""
    with log_request(self):
        current_worker().index(QueueTarget.parse(target), ids, self.request.id)


@shared_task(name=PARSE_TASK, bind=True)
def parse(self: Task, collection: str, path: str, format_name: str) -> None:
    """Read a file that lies where this worker sees it into the store, and announce what is new."""
    with log_request(self):
        current_worker().parse(collection, path, format_name)


@shared_task(name=SWEEP_TASK)
def sweep() -> None:
    """Announce what is orphaned, and finish rebuilds that are filled."""
    current_worker().sweep()
