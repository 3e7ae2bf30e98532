"""A client's socket that no slow client can hold a thread with, neither by sending slowly nor by reading slowly."""

from __future__ import annotations

import socket
import time
from typing import Any, Final

PATIENCE_SECONDS: Final = 60.0
"""How long a thread waits for one client, beyond the time that its bytes may take at the least rate."""

LEAST_RATE: Final = 1_000
"""Bytes per second that a client must send on average."""

LEAST_READING_RATE: Final = 50_000
"""Bytes per second that a client must read on average while a thread waits for it."""

MAX_UNSENT: Final = 16 << 20
"""Bytes of an answer that are kept for a slow reader; a thread with a longer answer waits until it has read some."""

_SLICE_SECONDS: Final = 0.5


class ClientSocket(socket.socket):
    """The socket of a client, over the `accepted` one.

    `sendall` keeps what the client does not read at once: `flush` sends it later. `recv` and `sendall` raise
    `TimeoutError` for a client that keeps a thread waiting too long.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self.unsent = bytearray()
        self._left = PATIENCE_SECONDS

    def grant(self, seconds: float) -> None:
        """Let a thread wait for this client `seconds` in all from now on; 0: take only what has arrived."""
        self._left = seconds

    def hurry(self, seconds: float) -> None:
        """Reduce the time left to `seconds`; a thread that is waiting notices it."""
        self._left = min(self._left, seconds)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive as `socket.recv`; with a timeout or blocking, wait for at most the time that the client has left."""
        own = self.gettimeout()
        if own == 0 or flags:
            return super().recv(size, flags)
        try:
            data = self._waited_for(size, own)
        finally:
            self.settimeout(own)
        self._earn(len(data) / LEAST_RATE)
        return data

    def _waited_for(self, size: int, own: float | None) -> bytes:
        stalled = None if own is None else time.monotonic() + own
        while True:
            before = time.monotonic()
            if stalled is not None and before >= stalled:
                raise TimeoutError("timed out")
            self.settimeout(max(0.0, min(_SLICE_SECONDS, self._left)))
            try:
                return super().recv(size)
            except (TimeoutError, BlockingIOError) as error:
                if self._left <= 0:
                    raise TimeoutError("the client sends too slowly") from error
            finally:
                self._left -= time.monotonic() - before

    def _earn(self, seconds: float) -> None:
        self._left = min(PATIENCE_SECONDS, self._left + seconds)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send as `socket.sendall`, but keep what the client does not read now."""
        self.unsent += data
        own = self.gettimeout()
        try:
            self.flush()
            while len(self.unsent) > MAX_UNSENT:
                self._wait_until_read()
        finally:
            self.settimeout(own)

    def _wait_until_read(self) -> None:
        if self._left <= 0:
            raise TimeoutError("the client reads too slowly")
        before = time.monotonic()
        self.settimeout(min(_SLICE_SECONDS, self._left))
        try:
            sent = super().send(self.unsent[: 1 << 16])
        except TimeoutError:
            sent = 0
        self._left -= time.monotonic() - before
        self._earn(sent / LEAST_READING_RATE)
        del self.unsent[:sent]

    def flush(self) -> bool:
        """Send what the client reads now, without waiting; whether anything was sent. Leaves the socket non-blocking."""
        self.settimeout(0)
        done = 0
        try:
            while done < len(self.unsent):
                done += super().send(self.unsent[done : done + (1 << 18)])
        except BlockingIOError:
            pass
        del self.unsent[:done]
        return done > 0
