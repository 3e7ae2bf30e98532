"""The timer of the sweeper: a step of Celery's consumer that sends its task again and again."""

from __future__ import annotations

import logging
from typing import Any, Final

from celery import bootsteps

from workers.queueing.app import PARSE, SWEEP_TASK

SWEEP_SECONDS: Final = 15.0

_log = logging.getLogger("medley.worker")


class SweepTimer(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Sends the sweeper's task from the worker's main process, every `SWEEP_SECONDS` while it is connected.

    Celery's own scheduler is a process: nobody would notice when it died, and nobody would end it when its worker did.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _entry: Any = None

    def start(self, parent: Any) -> None:
        """Begin, as soon as messages are received."""
        self._entry = parent.timer.call_repeatedly(SWEEP_SECONDS, _send_sweep, (parent.app,))

    def stop(self, parent: Any) -> None:
        """Stop, until the connection is restored."""
        if self._entry is not None:
            self._entry.cancel()

    shutdown = stop


def _send_sweep(app: Any) -> None:
    try:
        app.send_task(SWEEP_TASK, queue=PARSE, expires=SWEEP_SECONDS)
    except Exception as error:  # the connection's own error will end and renew it
        _log.warning("the sweeper's task could not be sent: %s", error)
