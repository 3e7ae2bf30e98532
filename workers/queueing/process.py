"""A Celery worker of ours: which queues it serves, its log, and what its processes do after the fork."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

from celery import bootsteps
from celery.signals import worker_process_init
from celery.utils.nodenames import default_nodename
from kombu.exceptions import OperationalError

from mappings.errors import InvalidInput
from search.settings import Settings
from workers.queueing.app import PARSE, QUEUES, SWEEP_SECONDS, SWEEP_TASK, app_of
from workers.queueing.queue import address

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="-")
"""The id of the request that a task's documents came with."""

_log = logging.getLogger("medley.worker")
_PING_SECONDS: Final = 5.0
_SWITCH_SECONDS: Final = 0.0005
_FORM: Final = "%(asctime)s %(levelname)s %(process)d request %(request)s: %(message)s"


def run(settings: Settings, queues: Sequence[str], processes: int, sweep: bool) -> int:
    """Work until a signal ends it; the exit status. Raises `InvalidInput` for an unknown queue, or for none at all."""
    unknown = sorted(set(queues) - set(QUEUES))
    if unknown or not queues:
        raise InvalidInput(f"--queues takes {', '.join(QUEUES)}, not {', '.join(unknown) or 'nothing'}", field="queues")
    app = app_of(address(settings))
    log_to_stderr()
    worker_process_init.connect(lambda **_: _begin(settings, processes), weak=False)
    if sweep:
        app.steps["consumer"].add(Sweeper)
    worker = app.Worker(
        hostname=default_nodename(None),
        pool="prefork",
        concurrency=processes,
        queues=[QUEUES[name] for name in queues],
        optimization="fair",
        without_gossip=True,
        without_mingle=True,
        loglevel=logging.WARNING,
        quiet=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


class Sweeper(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Sends out the sweeper from the main process, again and again while it is connected.

    Celery's own scheduler is a process: nobody would miss it when it died, and nobody would end it when its worker did.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _entry: Any = None

    def start(self, parent: Any) -> None:
        """Begin, as soon as messages are taken."""
        self._entry = parent.timer.call_repeatedly(SWEEP_SECONDS, _send_sweeper, (parent.app,))

    def stop(self, parent: Any) -> None:
        """Cease, until the connection is there again."""
        if self._entry is not None:
            self._entry.cancel()

    shutdown = stop


def _send_sweeper(app: Any) -> None:
    try:
        app.send_task(SWEEP_TASK, queue=PARSE, expires=SWEEP_SECONDS)
    except Exception as error:  # the connection's own error will end and renew it
        _log.warning("the sweeper could not be sent out: %s", error)


def answers(settings: Settings) -> bool:
    """Whether the worker of this machine answers. Raises `InvalidInput` where no queue is set."""
    app = app_of(address(settings))
    try:
        return bool(app.control.ping([default_nodename(None)], timeout=_PING_SECONDS))
    except (OSError, OperationalError):
        return False


def log_to_stderr() -> None:
    """Our own lines from INFO on, those of libraries from WARNING; each with the id of the request it belongs to."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORM))
    handler.addFilter(_named)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("medley").setLevel(logging.INFO)


def _named(record: logging.LogRecord) -> bool:
    record.request = REQUEST.get()
    return True


def _begin(settings: Settings, processes: int) -> None:
    """In each process, before its models are loaded: a GPU of its own, and threads that hand over quickly.

    Analysis is Python and encoding is not: a thread that comes back from a model's run must not wait five milliseconds,
    Python's own measure, for the one that analyses.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    if settings.device == "cuda" and processes > 1:
        from billiard.process import current_process

        number: Any = getattr(current_process(), "index", 0)
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(number))
