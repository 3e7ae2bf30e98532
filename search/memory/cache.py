"""Two small thread-safe caches: one keeps the most recently used values, the other keeps values for a short time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """Keeps the `entries` most recently used values. The caller's access must be part of the key."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """The value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: T) -> T:
        """Keep `value`, and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._entries:
                self._values.popitem(last=False)
        return value


class FreshCache(Generic[T]):
    """Keeps each value for `seconds`: a process notices the changes of others at most so late."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._values: dict[Hashable, tuple[float, T]] = {}
        self._changes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, load: Callable[[], T]) -> T:
        """The kept value while it is fresh, else what `load` returns; nothing is kept when it raises."""
        with self._lock:
            kept, changes = self._values.get(key), self._changes
        now = time.monotonic()
        if kept is not None and now - kept[0] < self._seconds:
            return kept[1]
        value = load()
        with self._lock:
            if changes == self._changes:  # else the value may be older than the change that `forget` announced
                self._values[key] = (now, value)
        return value

    def forget(self, key: Hashable) -> None:
        """Load the value again on the next use, since it has changed."""
        with self._lock:
            self._values.pop(key, None)
            self._changes += 1
