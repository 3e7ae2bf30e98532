"""The batching core: order, fairness, bounds, and what is never run."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import sentences

from encoders.artifact import Artifact
from encoders.batching import (
    Abandoned,
    Batcher,
    BatchPlan,
    Capacity,
    DirectRunner,
    Expired,
    Overloaded,
    RequestLifetime,
)
from encoders.pooling import Floats
from encoders.runtime import BiEncoder
from mappings.errors import ModelError

FOREVER = RequestLifetime()


class Machine:
    """A run of numbers to their doubles that keeps what it was given, and stands still while `hold` is set."""

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self.free = threading.Event()
        self.free.set()

    def run(self, items: Sequence[int]) -> Floats:
        if any(item < 0 for item in items):
            raise ValueError("a negative number")
        self.runs.append(list(items))
        assert self.free.wait(10)
        return np.asarray(items, dtype=np.float32) * 2


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def start(machine: Machine) -> Iterator[Callable[[BatchPlan], Batcher[int]]]:
    """Makes batchers whose inputs are as long as they say."""
    made: list[Batcher[int]] = []

    def make(plan: BatchPlan) -> Batcher[int]:
        made.append(Batcher(machine.run, lambda item: item, plan))
        return made[-1]

    yield make
    machine.free.set()
    for batcher in made:
        batcher.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@given(
    st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=8), min_size=1, max_size=6),
    st.integers(1, 60),
    st.integers(1, 3),
)
def test_every_request_gets_its_own_rows_in_its_order(requests: list[list[int]], budget: int, runners: int) -> None:
    machine = Machine()
    batcher = Batcher(machine.run, lambda item: item, BatchPlan(budget, runners))
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(lambda items: np.stack(batcher.submit(items, FOREVER)).tolist(), requests))
    batcher.close()
    assert answers == [[2.0 * item for item in items] for items in requests]
    assert sorted(chain(*machine.runs)) == sorted(chain(*requests))
    assert all(len(run) == 1 or max(run) * len(run) <= budget for run in machine.runs)


def test_batched_vectors_are_those_of_each_text_alone(bi: Artifact) -> None:
    encoder, texts = BiEncoder(bi, form="fp32"), sentences(60)
    alone = np.concatenate([encoder.encode_passages([text]) for text in texts])
    batcher = Batcher(encoder.vectors, len, BatchPlan(encoder.model.budget, 2, 0.002))
    with ThreadPoolExecutor(16) as pool:
        rows = list(
            pool.map(lambda text: batcher.submit(encoder.model.tokenizer.tokenize_passages([text]), FOREVER)[0], texts)
        )
    batcher.close()
    made = np.stack(rows)
    assert np.allclose(made / np.linalg.norm(made, axis=1, keepdims=True), alone, atol=1e-5)


def test_a_short_request_is_not_held_up_by_a_long_one(
    machine: Machine, start: Callable[[BatchPlan], Batcher[int]]
) -> None:
    batcher = start(BatchPlan(budget=10))
    machine.free.clear()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(batcher.submit, [10], FOREVER)
        until(lambda: len(machine.runs) == 1)  # the machine is busy, the next two wait
        pool.submit(batcher.submit, [10] * 20, FOREVER)
        until(lambda: len(batcher._waiting) == 1)
        short = pool.submit(batcher.submit, [9], FOREVER)
        until(lambda: len(batcher._waiting) == 2)
        machine.free.set()
        assert np.stack(short.result(10)).tolist() == [18.0]
    assert [9] in machine.runs[:3]


def test_what_waits_runs_together(machine: Machine, start: Callable[[BatchPlan], Batcher[int]]) -> None:
    batcher = start(BatchPlan(budget=40))
    machine.free.clear()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(batcher.submit, [1], FOREVER)
        until(lambda: len(machine.runs) == 1)
        others = [pool.submit(batcher.submit, [5], FOREVER) for _ in range(8)]
        until(lambda: len(batcher._waiting) == 8)
        machine.free.set()
        assert [np.stack(job.result(10)).tolist() for job in (first, *others)] == [[2.0], *[[10.0]] * 8]
    assert machine.runs == [[1], [5] * 8]


def test_lingering_lets_a_second_request_join(machine: Machine, start: Callable[[BatchPlan], Batcher[int]]) -> None:
    batcher = start(BatchPlan(budget=40, linger=0.3))
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda item: np.stack(batcher.submit([item], FOREVER)).tolist(), [20, 19]))
    assert answers == [[40.0], [38.0]]
    assert sorted(machine.runs[0]) in ([19, 20], [20])


def test_an_expired_request_is_never_run(machine: Machine, start: Callable[[BatchPlan], Batcher[int]]) -> None:
    batcher = start(BatchPlan(budget=10))
    machine.free.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(batcher.submit, [1], FOREVER)
        until(lambda: len(machine.runs) == 1)
        started = time.monotonic()
        with pytest.raises(Expired):
            batcher.submit([7, 8], RequestLifetime(deadline=started + 0.05))
        assert time.monotonic() - started < 1
        assert not batcher._waiting
        machine.free.set()
        assert np.stack(first.result(10)).tolist() == [2.0]
        assert np.stack(batcher.submit([3], FOREVER)).tolist() == [6.0]
    with pytest.raises(Expired):
        batcher.submit([9], RequestLifetime(deadline=time.monotonic() - 1))
    assert machine.runs == [[1], [3]]


def test_a_group_that_was_formed_loses_who_has_left(
    machine: Machine, start: Callable[[BatchPlan], Batcher[int]]
) -> None:
    batcher = start(BatchPlan(budget=10))
    machine.free.clear()
    left = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(batcher.submit, [10, 10], FOREVER)  # two groups are formed, one of them runs
        until(lambda: len(machine.runs) == 1)
        gone = pool.submit(batcher.submit, [4], RequestLifetime(is_gone=left.is_set))
        until(lambda: len(batcher._waiting) == 1)
        left.set()
        with pytest.raises(Abandoned):
            gone.result(10)
        machine.free.set()
        assert np.stack(first.result(10)).tolist() == [20.0, 20.0]
    assert machine.runs == [[10], [10]]


def test_one_bad_input_fails_alone(machine: Machine) -> None:
    batcher = Batcher(machine.run, abs, BatchPlan(budget=100))
    machine.free.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(batcher.submit, [1], FOREVER)
        until(lambda: len(machine.runs) == 1)
        good, bad = pool.submit(batcher.submit, [5, 6], FOREVER), pool.submit(batcher.submit, [-5, 6], FOREVER)
        until(lambda: len(batcher._waiting) == 2)
        machine.free.set()
        assert np.stack(first.result(10)).tolist() == [2.0]
        assert np.stack(good.result(10)).tolist() == [10.0, 12.0]
        with pytest.raises(ModelError, match="a negative number"):
            bad.result(10)
    batcher.close()


def test_past_capacity_is_refused_at_once_and_given_back() -> None:
    capacity = Capacity(3)
    with capacity.hold(2):
        with pytest.raises(Overloaded, match="the queue is full: 2 of at most 3 inputs"), capacity.hold(2):
            pass
        with capacity.hold(1):
            assert capacity.in_use == 3
    assert capacity.in_use == 0
    with pytest.raises(ZeroDivisionError), capacity.hold(3):
        raise ZeroDivisionError
    assert capacity.in_use == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities are those of whole processes")
def test_runs_stand_back_for_the_threads_that_answer() -> None:
    seen: list[int] = []

    def run(items: Sequence[int]) -> Floats:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return np.zeros((len(items), 1), np.float32)

    before = os.getpriority(os.PRIO_PROCESS, 0)
    batcher = Batcher(run, lambda item: 1, BatchPlan(4, nice=3))
    batcher.submit([1], FOREVER)
    batcher.close()
    assert seen == [min(19, before + 3)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_alone_answers_alike(machine: Machine) -> None:
    assert np.stack(DirectRunner(machine.run).submit([3, 1], FOREVER)).tolist() == [6.0, 2.0]
    with pytest.raises(Expired):
        DirectRunner(machine.run).submit([3], RequestLifetime(deadline=time.monotonic()))
    with pytest.raises(ModelError, match="a negative number"):
        DirectRunner(machine.run).submit([-3], FOREVER)
