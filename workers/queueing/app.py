"""The Celery application: what its queues carry, and how nothing that they carry is lost when a worker dies."""

from __future__ import annotations

from typing import Final

from celery import Celery

PREFIX: Final = "medley:"
ENCODE: Final = f"{PREFIX}encode"
URGENT: Final = f"{PREFIX}urgent"
"""Replacements and deletions: until they are indexed, searches leave the documents out. A worker takes from its queues in
turn, so one waits for one message of each other queue at most, and a flood of them does not keep the sweeper waiting."""
PARSE: Final = f"{PREFIX}parse"
QUEUES: Final = {"encode": (URGENT, ENCODE), "parse": (PARSE,)}

INDEX_TASK: Final = "medley.index"
PARSE_TASK: Final = "medley.parse"
SWEEP_TASK: Final = "medley.sweep"

LIMIT_SECONDS: Final = 1_800
"""The longest that a task can take; its worker's process is killed then."""


def make_app(url: str) -> Celery:
    """The application over a Redis. Messages are JSON and carry ids; a message is acknowledged when its work is done."""
    app = Celery("medley", broker=url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,  # a message that waits behind a long one could go to another worker
        # No soft limit: its exception would come in the middle of a document, and be taken for that document's fault.
        task_time_limit=LIMIT_SECONDS,
        broker_transport_options={
            "visibility_timeout": 2 * LIMIT_SECONDS,
            "socket_timeout": 30,
            "socket_connect_timeout": 5,
            "max_retries": 1,  # of a sender that finds no Redis: it must not wait for seconds
            "interval_start": 0.0,
            "interval_step": 0.2,
            "interval_max": 0.2,
        },
        task_publish_retry=False,  # a sender does not wait for Redis: the sweeper finds what was not announced
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        task_default_queue=ENCODE,
        task_routes={PARSE_TASK: {"queue": PARSE}, SWEEP_TASK: {"queue": PARSE}},
        worker_hijack_root_logger=False,
        worker_proc_alive_timeout=120.0,
    )
    return app


def make_worker_app(url: str) -> Celery:
    """The application of a worker: with its tasks, and current in this process."""
    app = make_app(url)
    app.conf.include = ["workers.queueing.tasks"]
    app.set_current()
    app.set_default()
    return app
