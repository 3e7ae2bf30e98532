"""Fair shares of a process: how many requests of a kind run at the same time, in all and for one caller."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from mappings.errors import MedleyError

RETRY_SECONDS: Final = 5
WAITING: Final = 32
"""Requests that can wait for their turn; each of them occupies a thread."""

WAIT_SECONDS: Final = 5.0


class CallerBusy(MedleyError):
    """The caller, or all callers together, have as many requests running and waiting as they may."""

    code = "overloaded"
    retry_after = RETRY_SECONDS


@dataclass(eq=False, slots=True)
class Turn:
    """A request of `caller` that runs or waits. `shares` let another caller go first: see `FairShares.pass_on`."""

    caller: str
    shares: FairShares

    def pass_on(self, seconds: float) -> None:
        """Between two steps of a long request: see `FairShares.pass_on`."""
        self.shares.pass_on(self, seconds)


class FairShares:
    """Runs up to `limit` requests at the same time, but at most half of them (rounded up) for one caller. Thread-safe.

    Up to `waiting` further ones, again at most half of them for one caller, wait up to `seconds` for their turn. Whoever has
    the fewest running is next.
    """

    def __init__(self, limit: int, what: str, waiting: int = WAITING, seconds: float = WAIT_SECONDS) -> None:
        self.limit, self.per_caller = limit, (limit + 1) // 2
        self._what, self._most_waiting, self._seconds = what, waiting, seconds
        self._running: Counter[str] = Counter()
        self._waiting: list[Turn] = []
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, caller: str) -> Iterator[Turn]:
        """Run the block when it is the caller's turn. Raises `CallerBusy` if too many wait, or if the wait is too long."""
        turn = Turn(caller, self)
        with self._changed:
            self._wait_for(turn, self._seconds, is_new=True)
        try:
            yield turn
        finally:
            with self._changed:
                self._end(turn)

    def pass_on(self, turn: Turn, seconds: float) -> None:
        """Let the next request of another caller go first, if one waits, and continue after it.

        Raises `CallerBusy` if the wait takes longer than `seconds`.
        """
        with self._changed:
            if all(other.caller == turn.caller for other in self._waiting):
                return
            self._end(turn)
            try:
                self._wait_for(turn, seconds, is_new=False)
            except CallerBusy:
                self._running[turn.caller] += 1  # `hold` ends it
                raise

    def _wait_for(self, turn: Turn, seconds: float, is_new: bool) -> None:
        self._waiting.append(turn)
        try:
            if self._next() is not turn:
                if is_new and self._is_full(turn.caller):
                    raise CallerBusy(self._message())
                if not self._changed.wait_for(lambda: self._next() is turn, seconds):
                    raise CallerBusy(self._message())
            self._running[turn.caller] += 1
        finally:
            self._waiting.remove(turn)
            self._changed.notify_all()

    def _next(self) -> Turn | None:
        """The waiting request whose turn it is."""
        if self._running.total() >= self.limit:
            return None
        eligible = [turn for turn in self._waiting if self._running[turn.caller] < self.per_caller]
        return min(eligible, key=lambda turn: self._running[turn.caller], default=None)

    def _is_full(self, caller: str) -> bool:
        """Whether too many wait, the one that was just added included."""
        own = sum(turn.caller == caller for turn in self._waiting)
        return len(self._waiting) > self._most_waiting or own > (self._most_waiting + 1) // 2

    def _end(self, turn: Turn) -> None:
        self._running[turn.caller] -= 1
        if not self._running[turn.caller]:
            del self._running[turn.caller]
        self._changed.notify_all()

    def _message(self) -> str:
        return (
            f"too many {self._what} at the same time: at most {self.per_caller} of one caller and {self.limit} in all run "
            f"in one process; try again in {RETRY_SECONDS} seconds"
        )
