"""The timer of the sweeper: a step of Celery's consumer that sends the sweep task at intervals."""

from __future__ import annotations

import logging
from typing import Any, Final

from celery import bootsteps

from workers.queueing.app import PARSE, SWEEP_TASK

SWEEP_SECONDS: Final = 15.0

_log = logging.getLogger("medley.worker")


class SweepTimer(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Sends the sweep task from the worker's main process, every `SWEEP_SECONDS` while it is connected.

    Celery's own scheduler is a separate process: nothing would notice its death or end it with its worker.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _entry: Any = None

    def start(self, parent: Any) -> None:
        """Start the timer, once messages are received."""
        self._entry = parent.timer.call_repeatedly(SWEEP_SECONDS, _send_sweep, (parent.app,))

    def stop(self, parent: Any) -> None:
        """Stop the timer until the connection is restored."""
        if self._entry is not None:
            self._entry.cancel()

    shutdown = stop


def _send_sweep(app: Any) -> None:
    try:
        app.send_task(SWEEP_TASK, queue=PARSE, expires=SWEEP_SECONDS)
    except Exception as error:  # the consumer detects the lost connection and reconnects by itself
        _log.warning("could not send the sweep task: %s", error)
