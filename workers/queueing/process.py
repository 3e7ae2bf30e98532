"""A Celery worker of ours: which queues it serves, and what its processes do after the fork."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from celery.signals import worker_process_init, worker_process_shutdown, worker_ready
from celery.utils.nodenames import default_nodename
from kombu.exceptions import OperationalError

from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings
from search.tracing import spans
from workers.queueing.address import redis_place, redis_url
from workers.queueing.app import QUEUES, make_worker_app
from workers.queueing.logs import log_to_stderr
from workers.queueing.sweeper import SweepTimer

_PING_SECONDS: Final = 5.0
_SWITCH_SECONDS: Final = 0.0005

_log = logging.getLogger("medley.worker")


def run(settings: Settings, queues: Sequence[str], processes: int, sweep: bool) -> int:
    """Work until a signal ends it; the exit status. Raises `InvalidInput` for an unknown queue, or for none at all."""
    unknown = sorted(set(queues) - set(QUEUES))
    if unknown or not queues:
        raise InvalidInput(f"--queues takes {', '.join(QUEUES)}, not {', '.join(unknown) or 'nothing'}", field="queues")
    spans.check_setting(settings.traces)
    app, place = make_worker_app(redis_url(settings)), redis_place(settings)
    log_to_stderr()
    worker_process_init.connect(lambda **_: _prepare_process(settings, processes), weak=False)
    worker_ready.connect(lambda **_: _log.info("ready: %s from Redis at %s", ", ".join(queues), place), weak=False)
    worker_process_shutdown.connect(lambda **_: _close_process(), weak=False)
    if sweep:
        app.steps["consumer"].add(SweepTimer)
    worker = app.Worker(
        hostname=default_nodename(None),
        pool="prefork",
        concurrency=processes,
        queues=[queue for name in QUEUES if name in queues for queue in QUEUES[name]],
        optimization="fair",
        without_gossip=True,
        without_mingle=True,
        loglevel=logging.WARNING,
        quiet=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def ping(settings: Settings) -> str:
    """The name of this machine's worker, which answered.

    Raises `Unavailable` if it does not answer or Redis does not, `InvalidInput` where no queue is set.
    """
    app, name = make_worker_app(redis_url(settings)), str(default_nodename(None))
    try:
        answered = app.control.ping([name], timeout=_PING_SECONDS)
    except (OSError, OperationalError) as error:
        raise Unavailable(f"Redis at {redis_place(settings)} does not answer: {error}", field="MEDLEY_REDIS") from error
    if not answered:
        raise Unavailable(
            f"{name} did not answer within {_PING_SECONDS:.0f} s: no worker runs on this machine with Redis at "
            f"{redis_place(settings)}, or it is stuck"
        )
    return name


def _prepare_process(settings: Settings, processes: int) -> None:
    """In each process, before its models are loaded: a GPU of its own, and threads that hand over quickly.

    Analysis is Python and encoding is not: a thread that returns from a model's run must not wait five milliseconds,
    Python's default, for the one that analyses.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    spans.start(settings.traces, "medley-worker")
    if settings.device == "cuda" and processes > 1:
        from billiard.process import current_process

        number: Any = getattr(current_process(), "index", 0)
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(number))


def _close_process() -> None:
    """Leave complete files behind, and send the last spans; a process that never had a task has opened no files."""
    from workers.queueing.worker import current_worker

    if current_worker.cache_info().currsize:
        current_worker().medley.close()
    spans.stop()
