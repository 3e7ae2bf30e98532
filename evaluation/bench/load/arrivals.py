"""Requests that arrive at a given rate, whether or not earlier ones were answered, and what became of each."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

REFUSED: Final = 429
ANSWERED: Final = 200
NO_ANSWER: Final = 0
"""Instead of a status: the connection failed, or nothing came in time."""
CONNECTIONS: Final = 96
"""Requests that can be under way at once: more than a gateway of two processes lets wait."""


@dataclass(frozen=True, slots=True)
class LoadReply:
    """One request: the second in which it was due, the milliseconds from then until it was answered, and the status."""

    due: float
    milliseconds: float
    status: int
    is_search: bool


Send = Callable[[int], tuple[int, bool]]
"""The number of a request -> its status, and whether it was a search."""


def run_closed(send: Send, clients: int, seconds: float) -> list[LoadReply]:
    """Each client sends its next request as soon as it has its answer."""
    started, numbers, lock = time.perf_counter(), iter(range(2**62)), threading.Lock()

    def client(_: int) -> list[LoadReply]:
        replies = []
        while (due := time.perf_counter() - started) < seconds:
            with lock:
                number = next(numbers)
            replies.append(_timed(send, number, started, due))
        return replies

    with ThreadPoolExecutor(clients) as pool:
        return [reply for own in pool.map(client, range(clients)) for reply in own]


def run_open(send: Send, per_second: float, seconds: float) -> list[LoadReply]:
    """Requests at random moments, `per_second` on average, the same moments in every run."""
    started, replies = time.perf_counter(), []
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for number, due in enumerate(_arrivals(per_second, seconds)):
            time.sleep(max(0.0, started + due - time.perf_counter()))
            replies.append(pool.submit(_timed, send, number, started, due))
        return [reply.result() for reply in replies]


def _timed(send: Send, number: int, started: float, due: float) -> LoadReply:
    status, is_search = send(number)
    return LoadReply(due, 1000 * (time.perf_counter() - started - due), status, is_search)


def _arrivals(per_second: float, seconds: float) -> Iterator[float]:
    draw, due = random.Random(0), 0.0  # noqa: S311 - a fixed sequence is what is wanted
    while (due := due + draw.expovariate(per_second)) < seconds:
        yield due


class MemoryWatch:
    """Reads every so many seconds how many megabytes something holds, in a thread of its own."""

    def __init__(self, read: Callable[[], float], every: float) -> None:
        self._read, self._every = read, every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.megabytes: list[float] = []

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            self.megabytes.append(self._read())
