"""Requests that arrive at a given rate, whether or not earlier ones were answered, and what became of each."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
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
    """Reads every few seconds what processes and those that they started hold in memory, in a thread of its own."""

    def __init__(self, processes: Sequence[int], every: float = 5.0) -> None:
        self._processes, self._every = processes, every
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
            self.megabytes.append(proportional_memory(self._processes))


def proportional_memory(processes: Sequence[int]) -> float:
    """Megabytes of these processes and all below them; what several share counts once. 0 where the system does not tell."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
        below.setdefault(parent, []).append(int(folder.name))
    family, waiting = set[int](), [*processes]
    while waiting:
        process = waiting.pop()
        if process not in family:
            family.add(process)
            waiting += below.get(process, ())
    return sum(map(_own_memory, family)) / 1024


def _own_memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
