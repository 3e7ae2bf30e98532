"""Who runs when several callers want to: half of the process at most for one, and nobody waits forever."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from web.serving.fair_shares import CallerBusy, FairShares


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize(("limit", "share"), [(1, 1), (2, 1), (3, 2), (4, 2), (64, 32)])
def test_one_caller_gets_half_and_another_the_rest(limit, share):
    shares = FairShares(limit, "searches", waiting=0)
    with ExitStack() as running:
        for _ in range(share):
            running.enter_context(shares.hold("ada"))
        with pytest.raises(CallerBusy, match=f"at most {share} of one caller and {limit} in all") as busy:
            running.enter_context(shares.hold("ada"))
        assert (busy.value.code, busy.value.retry_after) == ("overloaded", 5)
        for number in range(limit - share):
            running.enter_context(shares.hold(f"other {number}"))
        with pytest.raises(CallerBusy):
            running.enter_context(shares.hold("grace"))
    with shares.hold("ada"):
        assert shares._running.total() == 1


def test_a_wait_ends_with_the_turn_or_with_an_error():
    shares = FairShares(2, "searches", seconds=0.2)
    first = shares.hold("ada")
    first.__enter__()
    began = time.monotonic()
    with pytest.raises(CallerBusy), shares.hold("ada"):
        pass
    assert 0.15 < time.monotonic() - began < 2
    threading.Timer(0.05, first.__exit__, (None, None, None)).start()
    with shares.hold("ada"):
        assert shares._waiting == []


def test_waiting_is_limited_too_and_one_caller_cannot_take_all_of_it():
    shares = FairShares(2, "searches", waiting=4, seconds=10)

    def wait(caller):
        with shares.hold(caller):
            return caller

    with ThreadPoolExecutor(8) as pool:
        with shares.hold("ada"), shares.hold("grace"):
            waiting = [pool.submit(wait, "ada") for _ in range(2)]
            until(lambda: len(shares._waiting) == 2)
            with pytest.raises(CallerBusy), shares.hold("ada"):
                pass
            waiting += [pool.submit(wait, "eve"), pool.submit(wait, "eve")]
            until(lambda: len(shares._waiting) == 4)
            with pytest.raises(CallerBusy), shares.hold("mallory"):
                pass
        assert [item.result(10) for item in waiting] == ["ada", "ada", "eve", "eve"]


def test_whoever_has_fewest_running_is_next():
    shares, order = FairShares(3, "searches"), []

    def run(caller):
        with shares.hold(caller):
            order.append(caller)

    with ThreadPoolExecutor(4) as pool, ExitStack() as running:
        other = ExitStack()
        running.enter_context(shares.hold("ada"))
        running.enter_context(shares.hold("grace"))
        other.enter_context(shares.hold("eve"))
        first = pool.submit(run, "ada")
        until(lambda: len(shares._waiting) == 1)
        second = pool.submit(run, "mallory")
        until(lambda: len(shares._waiting) == 2)
        other.close()
        first.result(10)
        second.result(10)
    assert order == ["mallory", "ada"]


def test_a_long_request_lets_another_caller_go_first_and_then_continues():
    shares, order = FairShares(1, "searches"), []

    def short():
        with shares.hold("grace"):
            order.append("grace")

    with ThreadPoolExecutor(1) as pool, shares.hold("ada") as turn:
        turn.pass_on(1)  # nobody waits
        order.append("ada")
        waiting = pool.submit(short)
        until(lambda: shares._waiting)
        turn.pass_on(5)
        order.append("ada")
        waiting.result(10)
    assert order == ["ada", "grace", "ada"]
    assert not shares._running


def test_a_long_request_that_does_not_get_its_turn_back_fails_and_leaves_nothing_behind():
    shares, release = FairShares(1, "searches"), threading.Event()

    def long():
        with shares.hold("grace"):
            release.wait(10)

    with ThreadPoolExecutor(1) as pool:
        with ExitStack() as running:
            turn = running.enter_context(shares.hold("ada"))
            waiting = pool.submit(long)
            until(lambda: shares._waiting)
            with pytest.raises(CallerBusy):
                turn.pass_on(0.1)
        release.set()
        waiting.result(10)
    assert not shares._running
    assert not shares._waiting
