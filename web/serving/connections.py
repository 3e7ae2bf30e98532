"""The connections that wait without a thread: for a request, for the rest of one, or for their client to read."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from gunicorn.workers.gthread import TConn

from web.serving.framing import ChunkedBody, RequestHead, without_expectation
from web.serving.sockets import ClientSocket

_PIECE = 1 << 16


class Stage(Enum):
    """What a connection without a thread waits for, in the order in which they are given up when there are too many."""

    LINGER = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    STREAM = auto()
    SENDING = auto()


class ClientConnection(TConn):  # type: ignore[misc]
    """A client's connection: what has been received of the next request, and until when it can wait."""

    sock: ClientSocket

    def __init__(self, cfg: Any, accepted: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, ClientSocket(accepted), client, server)
        self.address = str(client[0]) if isinstance(client, tuple) else ""
        self.received = bytearray()
        self.head: RequestHead | None = None
        self.stage = Stage.HEAD
        self.deadline = 0.0
        self.is_streaming = self.is_reusable = self.has_ended = False
        self._body: ChunkedBody | None = None
        self._given = b""
        self._searched = 0

    @property
    def held_bytes(self) -> int:
        """The memory that its client makes it hold."""
        return len(self.received) + len(self.sock.unsent)

    def receive(self) -> int:
        """Take what has arrived, without waiting, and return its size; notes the end in `has_ended`. Raises `OSError`."""
        try:
            data = self.sock.recv(_PIECE)
        except BlockingIOError:
            return 0
        self.has_ended = not data
        self.received += data
        return len(data)

    def request_size(self) -> int | None:
        """The size of the request at the start of `received`; None while it is incomplete."""
        if self.head is None:
            self.head = RequestHead.of(self.received, self._searched)
        if self.head is None:
            self._searched = len(self.received)
            return None
        if self.head.length is not None:
            whole = self.head.size + self.head.length
            return whole if len(self.received) >= whole or self.has_ended else None
        self._body = self._body or ChunkedBody(self.head.size)
        end = self._body.end(self.received)
        return len(self.received) if end is None and self.has_ended else end

    def give(self, size: int, patience: float) -> None:
        """Give the first `size` bytes to the thread that takes over; it can wait `patience` seconds for more."""
        request = self.received[:size]
        del self.received[:size]
        assert self.head is not None  # noqa: S101
        was_expected = self.head.waits and not self.is_streaming
        self._given = without_expectation(request, self.head) if was_expected else bytes(request)
        self.head = self._body = None
        self._searched = 0
        self.data_ready = True
        self.sock.grant(patience)

    def init(self) -> None:
        """Called by the thread that takes over: its parser starts with the given bytes."""
        super().init()
        if self._given:
            self.parser.unreader.unread(self._given)
            self._given = b""

    def take_back(self) -> None:
        """Called after the thread: what it received of the next request comes first."""
        if self.parser is not None and not self.is_http2:
            self.received[:0] = self.parser.unreader.take_buffered()


class HeldConnections:
    """The connections without a thread, the longest held first."""

    def __init__(self) -> None:
        self._held: dict[ClientConnection, None] = {}
        self._by_address: Counter[str] = Counter()

    def __iter__(self) -> Iterator[ClientConnection]:
        return iter(list(self._held))

    def add(self, connection: ClientConnection, stage: Stage, seconds: float) -> None:
        """Hold `connection` for at most `seconds`."""
        connection.stage, connection.deadline = stage, time.monotonic() + seconds
        if connection not in self._held:
            self._held[connection] = None
            self._by_address[connection.address] += 1

    def remove(self, connection: ClientConnection) -> None:
        """Hold `connection` no longer."""
        if connection in self._held:
            del self._held[connection]
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def count(self, address: str) -> int:
        """How many are held for an address."""
        return self._by_address[address]

    def expired(self) -> list[ClientConnection]:
        """Those that have waited too long."""
        now = time.monotonic()
        return [connection for connection in self._held if connection.deadline <= now]

    def bytes(self) -> int:
        """The memory that all of them hold."""
        return sum(connection.held_bytes for connection in self._held)

    def dispensable(self, address: str | None = None) -> ClientConnection | None:
        """The one to give up for a new one: of `address`, or else of the address that holds most; the least far, the oldest."""
        if address is None:
            address = max(self._by_address, key=self._by_address.__getitem__, default=None)
        found = [connection for connection in self._held if connection.address == address]
        return min(found, key=lambda connection: connection.stage.value, default=None)

    def largest(self) -> ClientConnection | None:
        """The one that holds most memory."""
        return max(self._held, key=lambda connection: connection.held_bytes, default=None)
