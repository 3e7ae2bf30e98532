"""Celery's tasks: each a few lines around `workers.queueing.worker`, which does the work without Celery, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task, shared_task

from workers.queueing import worker as duty
from workers.queueing.app import INDEX_TASK, PARSE_TASK, SWEEP_TASK
from workers.queueing.process import REQUEST


@contextmanager
def asked_by(task: Task) -> Iterator[None]:
    """Let every line of the log name the request that the task came from."""
    token = REQUEST.set(str(task.request.get("asked") or "-"))
    try:
        yield
    finally:
        REQUEST.reset(token)


@shared_task(name=INDEX_TASK, bind=True)
def index(self: Task, target: str, ids: list[str]) -> None:
    """Index documents; what can't be done now stays pending, and the sweeper announces it again."""
    with asked_by(self):
        duty.at_work().index(target, ids, self.request.id)


@shared_task(name=PARSE_TASK, bind=True)
def parse(self: Task, collection: str, path: str, format_name: str) -> None:
    """Read a file that lies where this worker sees it into the store, and announce what is new."""
    with asked_by(self):
        duty.at_work().parse(collection, path, format_name)


@shared_task(name=SWEEP_TASK)
def sweep() -> None:
    """Announce what is lost, and finish rebuilds that are filled."""
    duty.at_work().sweep()
