"""Whether anybody still waits for a long request, and the process still runs."""

from __future__ import annotations

import select
import socket
import time
from typing import Any, Final

from mappings.errors import MedleyError
from web.serving.shutdown import SHUTDOWN

CHECK_SECONDS: Final = 1.0
"""A request that takes less is never stopped halfway."""

_HANG_UP: Final = getattr(select, "POLLRDHUP", 0)  # elsewhere than on Linux, only a reset connection is noticed


class BrokenOff(MedleyError):
    """The body ended early or cannot be decompressed; the records before that point are complete."""

    code = "broken_off"


class ServerStopping(BrokenOff):
    """This process is shutting down; the records before that point are complete."""

    code = "unavailable"


class RequestWatch:
    """Notices during long work that the client has gone or that the process is stopping; looks once a second.

    `connection` is the client's socket, if the server tells it. A client that shuts down only its side of the connection
    counts as gone, too: the two look the same from here.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._next = time.monotonic() + CHECK_SECONDS

    def check(self) -> None:
        """Raise `BrokenOff` if the client has gone, `ServerStopping` if the process is shutting down."""
        if self._is_due():
            _check_shutdown()
            if self._connection is not None and _is_closed(self._connection):
                raise BrokenOff("the client closed the connection")

    def check_shutdown(self) -> None:
        """Raise `ServerStopping` if the process is shutting down."""
        if self._is_due():
            _check_shutdown()

    def _is_due(self) -> bool:
        now = time.monotonic()
        if due := now >= self._next:
            self._next = now + CHECK_SECONDS
        return due


def _check_shutdown() -> None:
    if SHUTDOWN.has_begun:
        raise ServerStopping("the gateway is shutting down: send everything again")


def _is_closed(connection: socket.socket) -> bool:
    """Whether nothing more can come; what the client sent before may still be unread."""
    waiting = select.poll()
    try:
        waiting.register(connection, _HANG_UP)
        return bool(waiting.poll(0))
    except (OSError, ValueError):  # closed on our side
        return True
