"""A Celery worker of ours: which queues it serves, its log, and what its processes do after the fork."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from celery.signals import worker_process_init
from celery.utils.nodenames import default_nodename
from kombu.exceptions import OperationalError

from mappings.errors import InvalidInput
from search.settings import Settings
from workers.app import QUEUES, app_of
from workers.queue import address

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="-")
"""The id of the request that a task's documents came with."""

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
    with tempfile.TemporaryDirectory() as folder:
        worker = app.Worker(
            hostname=default_nodename(None),
            pool="prefork",
            concurrency=processes,
            queues=[QUEUES[name] for name in queues],
            beat=sweep,
            schedule_filename=str(Path(folder) / "beat"),
            optimization="fair",
            without_gossip=True,
            without_mingle=True,
            loglevel=logging.WARNING,
            quiet=True,
        )
        worker.start()
        return int(worker.exitcode or 0)


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
