"""What bounds a request that delivers documents: its size once decompressed, its lines, and whether anybody still waits."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mappings.errors import MedleyError
from web.shutdown import SHUTDOWN

MAX_RATIO: Final = 200
"""How many times its own size a gzip can contain. Records that repeat each other shrink to a fiftieth, bombs to a thousandth."""

FREE_BYTES: Final = 64 << 20
"""The ratio does not count up to here: decompressing this much takes a fraction of a second."""

CHECK_SECONDS: Final = 1.0
"""A request that takes less is never stopped halfway."""

_HANG_UP: Final = getattr(select, "POLLRDHUP", 0)  # elsewhere than on Linux, only a reset connection is noticed


class BrokenOff(MedleyError):
    """The body ended early or cannot be decompressed; the records before that point are complete."""

    code = "broken_off"


class DeliveryTooLarge(BrokenOff):
    """The body exceeds a limit; the records before that point are complete."""

    code = "too_large"


class ServerStopping(BrokenOff):
    """This process is shutting down; the records before that point are complete."""

    code = "unavailable"


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """The most bytes, decompressed, and lines that one request can contain; 0: any number."""

    size: int
    lines: int

    def apply(self, content: Iterable[bytes]) -> Iterator[bytes]:
        """The content up to the first limit that it exceeds; there raises `DeliveryTooLarge`. Empty lines count, too."""
        size = lines = 0
        for piece in content:
            if self.lines and (begun := self._cut_lines(piece, lines)) is not None:
                yield begun
                raise DeliveryTooLarge(f"the request has more than {self.lines:,} lines")
            if self.size and size + len(piece) > self.size:
                yield piece[: self.size - size]
                raise DeliveryTooLarge(f"the request contains more than {self.size:,} bytes")
            yield piece
            size += len(piece)
            lines += piece.count(b"\n")

    def _cut_lines(self, piece: bytes, before: int) -> bytes | None:
        """The part of `piece` that is within the limit after `before` lines; None if all of it is."""
        if before + piece.count(b"\n") < self.lines:
            return None
        *_, rest = piece.split(b"\n", self.lines - before)
        return piece[: len(piece) - len(rest)] if rest else None


def check_ratio(received: int, size: int) -> None:
    """Raise `DeliveryTooLarge` if `received` bytes of gzip have become too many."""
    if size > FREE_BYTES and size > MAX_RATIO * received:
        raise DeliveryTooLarge(f"the gzip contains more than {MAX_RATIO} times its own size")


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
