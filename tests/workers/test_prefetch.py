"""A step that runs ahead: order, errors in their place, bounds, and its end."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.indexing.prefetch import ahead


def running() -> int:
    return sum(thread.name == "ahead" for thread in threading.enumerate())


@given(st.lists(st.integers()), st.integers(1, 4))
def test_every_item_comes_once_in_order(items, depth):
    assert list(ahead(items, depth)) == items


def test_an_error_comes_after_what_was_made_before_it():
    def failing():
        yield 1
        yield 2
        raise KeyError("third")

    steps = ahead(failing())
    assert [next(steps), next(steps)] == [1, 2]
    with pytest.raises(KeyError, match="third"):
        next(steps)
    assert running() == 0


def test_it_runs_ahead_but_not_further_than_it_may():
    made = []
    with closing(ahead((made.append(number) or number for number in range(100)), depth=2)) as steps:
        assert next(steps) == 0
        until = time.monotonic() + 10
        while len(made) < 4 and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(0.05)
        assert len(made) == 4  # one was read, two wait, one is held


def test_giving_up_ends_the_thread_and_closes_the_items():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with closing(ahead(endless())) as steps:
        next(steps)
    assert closed.is_set()
    assert running() == 0


def test_steps_stand_behind_one_another():
    first = ahead(range(50))
    with closing(first), closing(ahead(number * 2 for number in first)) as second:
        assert list(second) == list(range(0, 100, 2))
