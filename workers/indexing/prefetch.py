"""Pipeline parallelism for generators: one step produces its next items while the following step uses the last ones."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_POLL_SECONDS: Final = 0.1
"""How often a producer that waits for room checks whether its items are still wanted."""


@dataclass(frozen=True, slots=True)
class _End:
    """Marks the end of the items; `error` is what ended them early, if anything did."""

    error: BaseException | None = None


def prefetch(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """The items in order, produced in a thread of their own, up to `depth` of them before they are requested.

    An exception in `items` is raised here, after the items before it. When the reader stops early, the thread ends after
    its current item and closes `items` if that is a generator.
    """
    producer = _Producer(items, depth)
    producer.start()
    try:
        yield from producer.read()
    finally:
        producer.stop()


class _Producer(Generic[T]):
    def __init__(self, items: Iterable[T], depth: int) -> None:
        self._items = items
        self._produced: Queue[T | _End] = Queue(depth)
        self._stopped = threading.Event()
        # In the context of whoever reads: its log lines and its spans name the same request.
        self._thread = threading.Thread(target=copy_context().run, args=(self._produce,), name="prefetch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def read(self) -> Generator[T, None, None]:
        while not isinstance(item := self._produced.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    def stop(self) -> None:
        self._stopped.set()
        with suppress(Empty):
            while True:
                self._produced.get_nowait()
        self._thread.join()

    def _produce(self) -> None:
        iterator = iter(self._items)
        try:
            for item in iterator:
                if not self._put(item):
                    return
            end = _End()
        except BaseException as error:  # of whatever kind, it belongs to the reader's thread
            end = _End(error)
        finally:
            if isinstance(iterator, Generator):
                iterator.close()
        self._put(end)

    def _put(self, item: T | _End) -> bool:
        """Whether the reader still wanted the item."""
        while not self._stopped.is_set():
            with suppress(Full):
                self._produced.put(item, timeout=_POLL_SECONDS)
                return True
        return False
