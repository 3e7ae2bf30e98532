"""Items produced in a thread of their own: their order, errors in their place, the depth, and the end of the thread."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.indexing.prefetch import prefetch


def running() -> int:
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


@given(st.lists(st.integers()), st.integers(1, 4))
def test_every_item_comes_once_in_order(items, depth):
    assert list(prefetch(items, depth)) == items


def test_an_error_comes_after_the_items_before_it():
    def failing():
        yield 1
        yield 2
        raise KeyError("third")

    steps = prefetch(failing())
    assert [next(steps), next(steps)] == [1, 2]
    with pytest.raises(KeyError, match="third"):
        next(steps)
    assert running() == 0


def test_no_more_than_the_depth_is_prefetched():
    made = []
    with closing(prefetch((made.append(number) or number for number in range(100)), depth=2)) as steps:
        assert next(steps) == 0
        until = time.monotonic() + 10
        while len(made) < 4 and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(0.05)
        assert len(made) == 4  # one was read, two wait, one is held


def test_stopping_early_ends_the_thread_and_closes_the_items():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with closing(prefetch(endless())) as steps:
        next(steps)
    assert closed.is_set()
    assert running() == 0


def test_steps_can_be_chained():
    first = prefetch(range(50))
    with closing(first), closing(prefetch(number * 2 for number in first)) as second:
        assert list(second) == list(range(0, 100, 2))
