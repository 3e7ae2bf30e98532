"""What clients of a served application are allowed: how long, how many and how large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BODY_BYTES: Final = 2_000_000
"""The gateway's largest body but for uploads: enough for a batch of 50 searches with the longest text in any script."""

ARTICLE_BYTES: Final = 5_000_000
"""The largest article in which claims are looked for: a saved page can have as much script around few words."""

MAX_ARTICLE_BODY_BYTES: Final = ARTICLE_BYTES + 100_000
"""The body of the form that sends it, which has other fields, too."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of each process.

    `body` is the largest body in bytes that is collected before a thread gets the request. Requests whose first line starts
    with one of `streamed` get a thread before their body has arrived; at most `streams` of them do at the same time.
    `memory` is how many bytes all clients together can make a process hold. `connections` is how many connections are held
    open, `per_address` how many of them for one address (0: any number). Times are in seconds: for the head of a request,
    for a collected body, for the wait for a place among the streams, and for the next request of a connection (`idle_seconds`,
    longer than clients and proxies keep one unused: who sends on one that is being closed gets no answer).
    """

    body: int
    streamed: tuple[bytes, ...] = ()
    streams: int = 1
    memory: int = 64 << 20
    connections: int = 1_000
    per_address: int = 0
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    stream_seconds: float = 10.0
    idle_seconds: float = 75.0
