"""What a server says when it starts: that its address is taken, before anything else, and later that it is ready."""

from __future__ import annotations

import multiprocessing
import socket
from collections.abc import Callable
from typing import Any

import click

from mappings.errors import Unavailable


def check_free(host: str, port: int) -> None:
    """Raise `Unavailable` if nothing can listen on the address: it is taken, reserved, or not one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn: closed connections don't block it
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unavailable(
                f"can't listen on {host}, port {port}: {reason}; choose another --port or --host"
            ) from error


def ready_hook(text: str, *further: Callable[[Any], None]) -> dict[str, Any]:
    """The option of gunicorn that prints `text` on stderr once, when the first process has loaded the application.

    Each process calls `further` with its worker before.
    """
    first = multiprocessing.get_context("fork").Semaphore(1)

    def post_worker_init(worker: Any) -> None:
        for call in further:
            call(worker)
        if first.acquire(block=False):
            click.echo(text, err=True)

    return {"post_worker_init": post_worker_init}
