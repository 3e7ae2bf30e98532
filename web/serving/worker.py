"""A gunicorn worker whose threads get complete requests only: the event loop waits for slow clients.

gunicorn's own threaded worker gives a connection to a thread as soon as it is open, and the thread waits for the request.
"""

from __future__ import annotations

import errno
import json
import selectors
import socket
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

from gunicorn.workers.gthread import ThreadWorker

from web.serving.connections import ClientConnection, HeldConnections, Stage
from web.serving.limits import ConnectionLimits
from web.serving.sockets import PATIENCE_SECONDS

MAX_HEAD_BYTES: Final = 1 << 16
RETRY_SECONDS: Final = 10
_LARGE_BYTES: Final = 1 << 17
_TICK_SECONDS: Final = 0.25
_LINGER_SECONDS: Final = 2.0
_SENDING_SECONDS: Final = 30.0
"""How long a client may read nothing of an answer that no thread waits for."""

_ANSWER_SECONDS: Final = 20.0
"""How long a thread waits for the reader of a long answer, beyond the time at the least rate."""

_STOP_SECONDS: Final = 2.0
"""How long a thread waits for a slow client when the server stops."""

_TEXTS: Final = {
    408: ("Request Timeout", "http_408", "the request did not arrive in time"),
    413: ("Content Too Large", "too_large", "the request is too large"),
    429: (
        "Too Many Requests",
        "overloaded",
        f"too many uploads at the same time: try again in {RETRY_SECONDS} seconds",
    ),
    431: ("Request Header Fields Too Large", "http_431", "the head of the request is too large"),
}


class PatientWorker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker, with connections that wait in the event loop until their request is complete."""

    limits: ClassVar[ConnectionLimits]

    def init_process(self) -> None:
        """Called in the new process; returns when the server stops."""
        self._held = HeldConnections()
        self._streaming: set[ClientConnection] = set()
        self._queued: deque[ClientConnection] = deque()
        self._next_tick = 0.0
        self._stop_by = 0.0
        super().init_process()

    def accept(self, listener: Any) -> None:
        """Accept a connection; if there are too many, give up the one that is missed least."""
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._give_up(self._held.dispensable())
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        connection = ClientConnection(self.cfg, accepted, client, listener.getsockname())
        if 0 < self.limits.per_address <= self._held.count(connection.address):
            self._give_up(self._held.dispensable(connection.address))
        if self.nr_conns >= self.worker_connections:
            self._give_up(self._held.dispensable())
        self._hold(connection, Stage.HEAD, self.limits.head_seconds)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Dispatch what happens; close what waited too long and, once the server stops, everything that waits."""
        super().wait_for_and_dispatch_events(min(timeout, _TICK_SECONDS))
        if not self.alive:
            self._stop_waiting()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + _TICK_SECONDS
            for connection in self._held.expired():
                self._expire(connection)

    def finish_request(self, connection: ClientConnection, future: Any) -> None:
        """After a thread: send what the client has not read yet, then wait for the next request or close."""
        self._streaming.discard(connection)
        connection.is_streaming = False
        finished = not future.cancelled() and future.exception() is None
        connection.is_reusable = finished and bool(future.result()) and self.alive
        try:
            if connection.sock.fileno() < 0:
                self.nr_conns -= 1
            elif connection.sock.unsent:
                self._hold(connection, Stage.SENDING, _SENDING_SECONDS)
                self._bound_memory(connection)
            else:
                self._after_answer(connection)
        except OSError:
            self._close(connection)
        self._start_queued()

    def _keepalive_after(self, connection: ClientConnection, keepalive: bool) -> bool:
        """Whether the connection can be used again. No thread waits for the rest of a body that nobody read."""
        connection.sock.grant(0)
        return bool(super()._keepalive_after(connection, keepalive))

    def _hold(self, connection: ClientConnection, stage: Stage, seconds: float) -> None:
        events = {Stage.STREAM: 0, Stage.SENDING: selectors.EVENT_WRITE}.get(stage, selectors.EVENT_READ)
        self._unregister(connection)
        connection.sock.setblocking(False)
        self._held.add(connection, stage, seconds)
        if events:
            self.poller.register(connection.sock, events, partial(self._on_event, connection))

    def _unregister(self, connection: ClientConnection) -> None:
        with suppress(KeyError, ValueError, OSError):
            self.poller.unregister(connection.sock)

    def _release(self, connection: ClientConnection) -> None:
        self._unregister(connection)
        self._held.remove(connection)
        if connection in self._queued:
            self._queued.remove(connection)

    def _close(self, connection: ClientConnection) -> None:
        if connection.sock.fileno() < 0:  # given up for another one while its event was at hand
            return
        self._release(connection)
        self.nr_conns -= 1
        connection.close()

    def _give_up(self, connection: ClientConnection | None) -> None:
        if connection is not None:
            self._close(connection)

    def _on_event(self, connection: ClientConnection, _socket: Any) -> None:
        try:
            if connection.stage is Stage.SENDING:
                self._send_on(connection)
            elif connection.stage is Stage.LINGER:
                if not connection.receive() and connection.has_ended:
                    self._close(connection)
                connection.received.clear()
            elif connection.receive() or connection.has_ended:
                self._advance(connection)
        except OSError:
            self._close(connection)

    def _send_on(self, connection: ClientConnection) -> None:
        if connection.sock.flush():
            connection.deadline = time.monotonic() + _SENDING_SECONDS
        if not connection.sock.unsent:
            self._release(connection)
            self._after_answer(connection)

    def _after_answer(self, connection: ClientConnection) -> None:
        if not connection.is_reusable:
            self._linger(connection)
            return
        connection.take_back()
        self._hold(connection, Stage.IDLE, self.limits.idle_seconds)
        if connection.received:
            self._advance(connection)

    def _advance(self, connection: ClientConnection) -> None:
        """Give a complete request to a thread; otherwise wait for more of it."""
        size = connection.request_size()
        head, limits = connection.head, self.limits
        if head is None:
            self._wait_for_head(connection)
        elif limits.streamed and head.line.startswith(limits.streamed):
            self._release(connection)
            self._held.add(connection, Stage.STREAM, limits.stream_seconds)
            self._queued.append(connection)
            self._start_queued()
        elif size is not None or (head.length or 0) > limits.body:  # the application rejects a larger one unread
            self._dispatch(connection, len(connection.received) if size is None else size, _ANSWER_SECONDS)
        elif len(connection.received) > head.size + 2 * limits.body:
            self._refuse(connection, 413)
        else:
            self._wait_for_body(connection, head.waits)

    def _wait_for_head(self, connection: ClientConnection) -> None:
        if connection.has_ended:
            self._close(connection)
        elif len(connection.received) > MAX_HEAD_BYTES:
            self._refuse(connection, 431)
        elif connection.stage is not Stage.HEAD:
            self._hold(connection, Stage.HEAD, self.limits.head_seconds)

    def _wait_for_body(self, connection: ClientConnection, waits: bool) -> None:
        if connection.stage is not Stage.BODY:
            if waits:
                connection.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._hold(connection, Stage.BODY, self.limits.body_seconds)
        self._bound_memory(connection)

    def _bound_memory(self, connection: ClientConnection) -> None:
        if connection.held_bytes > _LARGE_BYTES and self._held.bytes() > self.limits.memory:
            self._give_up(self._held.largest())

    def _dispatch(self, connection: ClientConnection, size: int, patience: float) -> None:
        self._release(connection)
        connection.give(size, patience)
        self.enqueue_req(connection)

    def _start_queued(self) -> None:
        """Give threads to the uploads that wait, as long as there is room."""
        while self._queued and len(self._streaming) < self.limits.streams:
            connection = self._queued.popleft()
            connection.is_streaming = True
            self._streaming.add(connection)
            self._dispatch(connection, len(connection.received), PATIENCE_SECONDS)

    def _expire(self, connection: ClientConnection) -> None:
        if connection.stage is Stage.STREAM:
            self._refuse(connection, 429)
        elif connection.stage is Stage.BODY or (connection.stage is Stage.HEAD and connection.received):
            self._refuse(connection, 408)
        else:
            self._close(connection)

    def _refuse(self, connection: ClientConnection, status: int) -> None:
        """Answer without the application, and close."""
        self._release(connection)
        reason, code, message = _TEXTS[status]
        body = json.dumps({"error": {"code": code, "message": message, "field": None}}).encode()
        retry = f"Retry-After: {RETRY_SECONDS}\r\n" if status == 429 else ""
        head = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\nCache-Control: no-store\r\n{retry}\r\n"
        )
        try:
            connection.sock.sendall(head.encode() + body)
        except OSError:
            self._close(connection)
        else:
            self._linger(connection)

    def _linger(self, connection: ClientConnection) -> None:
        """Close once the client has received everything: closing at once can make its system discard the answer."""
        connection.received.clear()
        try:
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
        else:
            self._hold(connection, Stage.LINGER, _LINGER_SECONDS)

    def _stop_waiting(self) -> None:
        """The server stops: answers are completed, but no more requests are awaited."""
        self._stop_by = self._stop_by or time.monotonic() + _STOP_SECONDS
        for connection in self._held:
            if connection.stage in (Stage.SENDING, Stage.LINGER):
                connection.deadline = min(connection.deadline, self._stop_by)
            else:
                self._close(connection)
        for connection in self._streaming:
            connection.sock.hurry(_STOP_SECONDS)
