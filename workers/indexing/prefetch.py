"""A step of a pipeline that works while the next one does: a generator that runs ahead of whoever reads it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_LOOK: Final = 0.1
"""Seconds between two looks of a step that waits for room at whether it is still wanted."""


@dataclass(frozen=True, slots=True)
class _End:
    """Nothing more comes; `error` is why, where it was not the end of the items."""

    error: BaseException | None = None


def ahead(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """The items in order, made in a thread of their own, up to `depth` of them before they are asked for.

    What making one raises is raised here, after the items before it. When the reader gives up, the thread ends after
    the item it is at, and `items`, where it is a generator, is closed.
    """
    step = _Step(items, depth)
    step.start()
    try:
        yield from step.read()
    finally:
        step.end()


class _Step(Generic[T]):
    def __init__(self, items: Iterable[T], depth: int) -> None:
        self._items = items
        self._made: Queue[T | _End] = Queue(depth)
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def read(self) -> Generator[T, None, None]:
        while not isinstance(item := self._made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    def end(self) -> None:
        self._unwanted.set()
        with suppress(Empty):
            while True:
                self._made.get_nowait()
        self._thread.join()

    def _work(self) -> None:
        iterator = iter(self._items)
        try:
            for item in iterator:
                if not self._hand_over(item):
                    return
            end = _End()
        except BaseException as error:  # whatever it is, it belongs to the reader's thread
            end = _End(error)
        finally:
            if isinstance(iterator, Generator):
                iterator.close()
        self._hand_over(end)

    def _hand_over(self, item: T | _End) -> bool:
        """Whether the reader still wanted it."""
        while not self._unwanted.is_set():
            with suppress(Full):
                self._made.put(item, timeout=_LOOK)
                return True
        return False
