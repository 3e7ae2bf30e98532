"""Run the inputs of many requests together: a bounded queue, and groups of similar length within a token budget.

Each request's thread submits its inputs and waits. As many threads as the device has concurrent runs (one on a GPU,
several per core on a CPU) take the next group as soon as they are free, so that none waits for the slowest of a batch.
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

from encoders.pooling import Floats
from encoders.text import group_by_length
from mappings.errors import MedleyError, ModelError

Item = TypeVar("Item")

POLL_SECONDS: Final = 0.1
"""Seconds between two checks whether the client is still connected."""

GROUPS_PER_RUNNER: Final = 2
"""Groups formed at a time per thread: more groups have more similar lengths, fewer admit a new request sooner."""


class Overloaded(MedleyError):
    """The queue is full; the client can retry later."""

    code = "overloaded"


class Expired(MedleyError):
    """The request's deadline passed before it was answered."""

    code = "deadline_passed"


class Abandoned(MedleyError):
    """The client disconnected before the request was answered."""

    code = "abandoned"


@dataclass(frozen=True, slots=True)
class RequestLifetime:
    """How long a request is worth answering: until `deadline`, a time of `time.monotonic`, and while its client is connected."""

    deadline: float | None = None
    is_gone: Callable[[], bool] | None = None

    def check(self) -> None:
        """Raise `Expired` or `Abandoned` if nobody waits for the answer any more."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Expired("the deadline of this request has passed")
        if self.is_gone is not None and self.is_gone():
            raise Abandoned("the client closed the connection")

    def next_check(self) -> float | None:
        """Seconds until the next `check`; None if none is needed."""
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        if self.is_gone is None:
            return left
        return POLL_SECONDS if left is None else min(POLL_SECONDS, left)


class Capacity:
    """Limits how many inputs (or whatever `what` names) are waiting or running at the same time."""

    def __init__(self, limit: int, what: str = "inputs") -> None:
        self.limit, self._what = limit, what
        self.in_use = 0
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, count: int) -> Iterator[None]:
        """Reserve room for `count` during the block. Raises `Overloaded` at once if there is too little."""
        with self._lock:
            if self.in_use + count > self.limit:
                raise Overloaded(
                    f"the queue is full: {self.in_use} of at most {self.limit} {self._what} are waiting;"
                    " try again in a moment"
                )
            self.in_use += count
        try:
            yield
        finally:
            with self._lock:
                self.in_use -= count


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How to use a device: tokens per run including padding, concurrent runs, seconds to wait for more inputs.

    `least_ratio` is the least length of an input relative to the longest of its group: padding is expensive on a CPU and
    nearly free on a GPU. `nice` is by how much the runs lower their system priority in favour of other threads.
    """

    budget: int
    runners: int = 1
    linger: float = 0.0
    least_ratio: float = 0.0
    nice: int = 0


@dataclass(eq=False, slots=True)
class PendingRequest(Generic[Item]):
    """The inputs of one request; `order` lists them longest first, so that inputs taken together have similar lengths."""

    items: Sequence[Item]
    lengths: Sequence[int]
    order: Sequence[int]
    received: float
    rows: list[Any]
    taken: int = 0
    left: int = 0
    error: Exception | None = None
    dropped: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def of(cls, items: Sequence[Item], length: Callable[[Item], int]) -> PendingRequest[Item]:
        """A request for `items`, none of which has run."""
        lengths = [max(1, length(item)) for item in items]
        order = sorted(range(len(items)), key=lambda number: (-lengths[number], number))
        return cls(items, lengths, order, time.monotonic(), [None] * len(items), left=len(items))


Group = list[tuple[PendingRequest[Item], int]]


class Batcher(Generic[Item]):
    """Runs inputs of many requests together. `run` returns one row for each input, in their order, of whatever shape.

    Requests take turns, one input each, so that a short request does not wait for a long one that arrived earlier.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Floats] | Floats],
        length: Callable[[Item], int],
        plan: BatchPlan,
        on_run: Callable[[int, int], None] = lambda inputs, tokens: None,
    ) -> None:
        self._run, self._length, self._plan, self._on_run = run, length, plan, on_run
        self._waiting: deque[PendingRequest[Item]] = deque()
        self._ready: deque[Group[Item]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(plan.runners)]
        for thread in self._threads:
            thread.start()

    def submit(self, items: Sequence[Item], lifetime: RequestLifetime) -> Sequence[Floats]:
        """One row per input, in input order; `items` must not be empty.

        Raises `Expired` or `Abandoned`, after which inputs that were not yet started never run, and `ModelError` if the
        run failed.
        """
        lifetime.check()
        request = PendingRequest.of(items, self._length)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify()
        while not request.done.wait(lifetime.next_check()):
            try:
                lifetime.check()
            except MedleyError:
                self._drop(request)
                raise
        if request.error is not None:
            raise ModelError(f"the model failed on these inputs: {request.error}") from request.error
        return request.rows

    def close(self) -> None:
        """Stop the threads after their current runs."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _drop(self, request: PendingRequest[Item]) -> None:
        with self._changed:
            request.dropped = True
            if request in self._waiting:
                self._waiting.remove(request)

    def _work(self) -> None:
        _lower_priority(self._plan.nice)
        while group := self._next_group():
            self._run_group(group)

    def _next_group(self) -> Group[Item]:
        """Wait for the next group, without inputs of dropped requests; empty after `close`."""
        with self._changed:
            while not self._closed:
                if self._ready:
                    if group := [pair for pair in self._ready.popleft() if not pair[0].dropped]:
                        return group
                elif self._waiting and not self._lingers():
                    self._ready.extend(self._form_groups())
                    # Wake only as many threads as find work: an idle one takes Python's lock from the others.
                    self._changed.notify(len(self._ready) + bool(self._waiting) - 1)
                else:
                    self._changed.wait(self._plan.linger or None if self._waiting else None)
            return []

    def _lingers(self) -> bool:
        """Whether to wait for more inputs, so that the next group is fuller."""
        oldest = self._waiting[0].received
        if time.monotonic() - oldest >= self._plan.linger:
            return False
        return sum(sum(request.lengths) for request in self._waiting) < self._plan.budget

    def _form_groups(self) -> list[Group[Item]]:
        """Inputs for every thread, taken from the requests in turn, in groups of similar length, shortest group first."""
        wanted = GROUPS_PER_RUNNER * self._plan.runners * self._plan.budget
        picked: Group[Item] = []
        tokens = 0
        while self._waiting and tokens < wanted:
            request = self._waiting.popleft()
            number = request.order[request.taken]
            request.taken += 1
            if request.taken < len(request.items):
                self._waiting.append(request)
            picked.append((request, number))
            tokens += request.lengths[number]
        lengths = [request.lengths[number] for request, number in picked]
        groups = group_by_length(lengths, self._plan.budget, self._plan.least_ratio)
        return [[picked[place] for place in group] for group in reversed(groups)]

    def _run_group(self, group: Group[Item]) -> None:
        """Run a group and deliver its rows; if it fails, run each input alone, so that one bad input fails alone."""
        try:
            rows = self._run([request.items[number] for request, number in group])
        except Exception as error:  # an error of the run belongs to the requests, not to this thread
            if len(group) > 1:
                for pair in group:
                    self._run_group([pair])
            else:
                self._fail(group[0][0], error)
            return
        self._on_run(len(group), sum(request.lengths[number] for request, number in group))
        with self._changed:
            for (request, number), row in zip(group, rows, strict=True):
                request.rows[number] = row
                request.left -= 1
                if not request.left:
                    request.done.set()

    def _fail(self, request: PendingRequest[Item], error: Exception) -> None:
        request.error = error
        self._drop(request)
        request.done.set()


def _lower_priority(steps: int) -> None:
    """Lower the priority of this thread alone, if the system can; it can't be raised again."""
    if steps and sys.platform == "linux":  # elsewhere only whole processes have a priority
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + steps)


class DirectRunner(Generic[Item]):
    """The interface of `Batcher` without batching: every request runs its own inputs in its own thread."""

    def __init__(self, run: Callable[[Sequence[Item]], Sequence[Floats] | Floats]) -> None:
        self._run = run

    def submit(self, items: Sequence[Item], lifetime: RequestLifetime) -> Sequence[Floats]:
        """One row per input, in input order. Raises as `Batcher.submit` does."""
        lifetime.check()
        try:
            return list(self._run(items))
        except Exception as error:
            raise ModelError(f"the model failed on these inputs: {error}") from error

    def close(self) -> None:
        """Do nothing: there is no thread to stop."""
