"""Serves an application by gunicorn, protected against slow clients."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from web.serving.limits import ConnectionLimits


def run_gunicorn(options: dict[str, Any], make_app: Callable[[], Any], allowed: ConnectionLimits) -> None:
    """Serve the application that `make_app` returns until a signal arrives; each process calls it after the fork."""
    from gunicorn.app.base import BaseApplication

    from web.serving.worker import PatientWorker

    class LimitedWorker(PatientWorker):
        """Serves with the limits of this call."""

        limits = allowed

    chosen = options | {"worker_class": LimitedWorker, "worker_connections": allowed.connections, "sendfile": False}

    class GunicornApplication(BaseApplication):  # type: ignore[misc]
        """Passes the options and the application to gunicorn."""

        def load_config(self) -> None:
            for name, value in chosen.items():
                self.cfg.set(name, value)

        def load(self) -> Any:
            return make_app()

    _allow_open_files()
    GunicornApplication().run()


def _allow_open_files() -> None:
    """Raise the limit of open files to what the system allows: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
