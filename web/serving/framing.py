"""How far a request has arrived: finds the end of its head and of its body in the bytes received so far."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_END: Final = b"\r\n\r\n"
_LINE: Final = b"\r\n"
_LONGEST_CHUNK_LINE: Final = 256
_EXPECT: Final = re.compile(rb"\r\nexpect[ \t]*:[^\r\n]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request: its first line, its size in bytes, and what it says about the body.

    `length` is the body's announced length in bytes, None for a chunked body. `waits`: the client sends the body once it
    has received `100 Continue`.
    """

    line: bytes
    size: int
    length: int | None
    waits: bool

    @classmethod
    def of(cls, received: bytearray, searched: int = 0) -> RequestHead | None:
        """The head at the start of `received`, of which the first `searched` bytes do not end it; None if incomplete."""
        end = received.find(_END, max(0, searched - len(_END) + 1))
        if end < 0:
            return None
        line, *fields = bytes(received[:end]).split(_LINE)
        length: int | None = 0
        waits = False
        for field in fields:
            name, _, value = field.partition(b":")
            match name.strip().lower(), value.strip().lower():
                case b"content-length", number if number.isdigit() and length is not None and len(number) < 20:
                    length = int(number)
                case b"transfer-encoding", codings if b"chunked" in codings:
                    length = None
                case b"expect", b"100-continue":
                    waits = True
        return cls(line, end + len(_END), length, waits)


class ChunkedBody:
    """Finds the end of a chunked body; remembers the chunks it has passed, so that many small ones cost little."""

    def __init__(self, start: int) -> None:
        self._next = start

    def end(self, received: bytearray) -> int | None:
        """Where the body ends; None while it is incomplete. A damaged one ends where the server will find the damage."""
        while True:
            line = received.find(_LINE, self._next)
            if line < 0:
                return len(received) if len(received) - self._next > _LONGEST_CHUNK_LINE else None
            try:
                size = int(received[self._next : line].partition(b";")[0], 16)
            except ValueError:
                return len(received)
            if size <= 0:
                last = received.find(_END, line)  # after the trailers, if there are any
                return last + len(_END) if last >= 0 else None
            following = line + len(_LINE) + size + len(_LINE)
            if following > len(received):
                return None
            self._next = following


def without_expectation(request: bytearray, head: RequestHead) -> bytes:
    """The request without its `Expect` header, which has been answered."""
    return _EXPECT.sub(b"", bytes(request[: head.size])) + bytes(request[head.size :])
