"""Inputs of many requests, run together: a bounded queue, and groups of alike length within a budget of tokens.

Each request's thread hands in its inputs and waits. As many threads as the device takes runs at once (one on a GPU,
some a core on a processor) take the next group whenever they are free, so none waits for the slowest of a batch.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import numpy as np

from encoders.pooling import Floats
from encoders.text import batches
from mappings.errors import MedleyError, ModelError

Item = TypeVar("Item")
Clock = Callable[[], float]

GLANCE: Final = 0.1
"""Seconds between two looks at whether the caller is still there."""

ROUND: Final = 2
"""Groups a thread that are formed at a time: more find more alike lengths, fewer let a new request in sooner."""


class Overloaded(MedleyError):
    """As many inputs wait as may: come again later."""

    code = "overloaded"


class Expired(MedleyError):
    """The request's deadline passed before it was answered."""

    code = "deadline_passed"


class Abandoned(MedleyError):
    """Whoever asked has left."""

    code = "abandoned"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is worth an answer: until a moment of `time.monotonic`, and while its caller is there."""

    until: float | None = None
    gone: Callable[[], bool] | None = None

    def check(self) -> None:
        """Raise `Expired` or `Abandoned` when nobody waits any more."""
        if self.until is not None and time.monotonic() >= self.until:
            raise Expired("the deadline of this request has passed")
        if self.gone is not None and self.gone():
            raise Abandoned("the client closed the connection")

    def pause(self) -> float | None:
        """Seconds until the next check; None: none is needed."""
        left = None if self.until is None else max(0.0, self.until - time.monotonic())
        if self.gone is None:
            return left
        return GLANCE if left is None else min(GLANCE, left)


class Places:
    """How many inputs (or whatever `what` names) may be here at once, waiting or running."""

    def __init__(self, capacity: int, what: str = "inputs") -> None:
        self.capacity, self._what = capacity, what
        self.taken = 0
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, count: int) -> Iterator[None]:
        """Keep `count` places during the block. Raises `Overloaded` at once when there are too few."""
        with self._lock:
            if self.taken + count > self.capacity:
                raise Overloaded(f"{self.taken} {self._what} wait, and {self.capacity} may: come again in a moment")
            self.taken += count
        try:
            yield
        finally:
            with self._lock:
                self.taken -= count


@dataclass(frozen=True, slots=True)
class Plan:
    """How a device is best fed: tokens of one run with padding, runs at once, seconds to wait for more inputs.

    `alike` is the least share of a group's longest input that another has: a processor pays for padding, a GPU hardly.
    `nice` is how far the runs stand back for other threads on the same cores, in the system's steps of priority.
    """

    budget: int
    runners: int = 1
    linger: float = 0.0
    alike: float = 0.0
    nice: int = 0


@dataclass(eq=False, slots=True)
class Job(Generic[Item]):
    """The inputs of one request, longest first in `order`, so that what is taken together is of alike length."""

    items: Sequence[Item]
    lengths: Sequence[int]
    order: Sequence[int]
    came: float
    rows: list[Any]
    taken: int = 0
    left: int = 0
    error: Exception | None = None
    dropped: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def of(cls, items: Sequence[Item], length: Callable[[Item], int]) -> Job[Item]:
        """A job over `items`, nothing of it done."""
        lengths = [max(1, length(item)) for item in items]
        order = sorted(range(len(items)), key=lambda number: (-lengths[number], number))
        return cls(items, lengths, order, time.monotonic(), [None] * len(items), left=len(items))


Group = list[tuple[Job[Item], int]]


class Batcher(Generic[Item]):
    """Runs inputs of many requests together. `run` makes (n, ...) rows of n inputs, in their order.

    Requests take turns, one input each, so that a short one is not held up by a long one that came first.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Floats],
        length: Callable[[Item], int],
        plan: Plan,
        ran: Callable[[int, int], None] = lambda inputs, tokens: None,
    ) -> None:
        self._run, self._length, self._plan, self._ran = run, length, plan, ran
        self._waiting: deque[Job[Item]] = deque()
        self._ready: deque[Group[Item]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(plan.runners)]
        for thread in self._threads:
            thread.start()

    def submit(self, items: Sequence[Item], patience: Patience) -> Floats:
        """One row an input, in input order; `items` is not empty.

        Raises `Expired` or `Abandoned`, and then what was not yet started is never run; `ModelError` when the run failed.
        """
        patience.check()
        job = Job.of(items, self._length)
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()
        while not job.done.wait(patience.pause()):
            try:
                patience.check()
            except MedleyError:
                self._drop(job)
                raise
        if job.error is not None:
            raise ModelError(f"the model failed on these inputs: {job.error}") from job.error
        return np.stack(job.rows)

    def close(self) -> None:
        """Let the threads end after what they run now."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _drop(self, job: Job[Item]) -> None:
        with self._changed:
            job.dropped = True
            if job in self._waiting:
                self._waiting.remove(job)

    def _work(self) -> None:
        _stand_back(self._plan.nice)
        while group := self._take():
            self._settle(group)

    def _take(self) -> Group[Item]:
        """The next group with what is still wanted of it; empty at the end."""
        with self._changed:
            while not self._closed:
                if self._ready:
                    if group := [pair for pair in self._ready.popleft() if not pair[0].dropped]:
                        return group
                elif self._waiting and not self._lingers():
                    self._ready.extend(self._round())
                    # As many as find work: each that is woken for nothing takes Python from those who have some.
                    self._changed.notify(len(self._ready) + bool(self._waiting) - 1)
                else:
                    self._changed.wait(self._plan.linger or None if self._waiting else None)
            return []

    def _lingers(self) -> bool:
        """Whether more inputs may still come in time for a fuller group."""
        oldest = self._waiting[0].came
        if time.monotonic() - oldest >= self._plan.linger:
            return False
        return sum(sum(job.lengths) for job in self._waiting) < self._plan.budget

    def _round(self) -> list[Group[Item]]:
        """Inputs for every thread, picked in turns from the requests, in groups of alike length; the shortest go first."""
        wanted = ROUND * self._plan.runners * self._plan.budget
        picked: Group[Item] = []
        tokens = 0
        while self._waiting and tokens < wanted:
            job = self._waiting.popleft()
            number = job.order[job.taken]
            job.taken += 1
            if job.taken < len(job.items):
                self._waiting.append(job)
            picked.append((job, number))
            tokens += job.lengths[number]
        groups = batches([job.lengths[number] for job, number in picked], self._plan.budget, self._plan.alike)
        return [[picked[place] for place in group] for group in reversed(groups)]

    def _settle(self, group: Group[Item]) -> None:
        """Run a group and hand out its rows; when it fails, each input is tried alone, so that one bad one fails alone."""
        try:
            rows = self._run([job.items[number] for job, number in group])
        except Exception as error:  # whatever the run raises belongs to the requests, not to this thread
            if len(group) > 1:
                for pair in group:
                    self._settle([pair])
            else:
                self._fail(group[0][0], error)
            return
        self._ran(len(group), sum(job.lengths[number] for job, number in group))
        with self._changed:
            for (job, number), row in zip(group, rows, strict=True):
                job.rows[number] = row
                job.left -= 1
                if not job.left:
                    job.done.set()

    def _fail(self, job: Job[Item], error: Exception) -> None:
        job.error = error
        self._drop(job)
        job.done.set()


def _stand_back(steps: int) -> None:
    """Lower the priority of this thread alone, where the system can; it can't be raised again."""
    if steps and sys.platform == "linux":  # elsewhere priorities are those of whole processes
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + steps)


class Alone(Generic[Item]):
    """The same without batching: every request runs its own inputs, in its own thread."""

    def __init__(self, run: Callable[[Sequence[Item]], Floats]) -> None:
        self._run = run

    def submit(self, items: Sequence[Item], patience: Patience) -> Floats:
        """One row an input, in input order. Raises as `Batcher.submit` does."""
        patience.check()
        try:
            return self._run(items)
        except Exception as error:
            raise ModelError(f"the model failed on these inputs: {error}") from error

    def close(self) -> None:
        """Nothing to end."""
