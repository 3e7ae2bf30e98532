"""The memory of scores that forked processes share: what it keeps, what it leaves out, and what damage it survives."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.memory.scores import ScoreMemory

ROOT = Path(__file__).parents[2]
SCORES = [[1.5, None, -3.25], [], [2.0]]


@given(st.lists(st.lists(st.none() | st.floats(allow_nan=False, width=64), max_size=20), max_size=4))
def test_scores_come_back_as_they_were(scores):
    memory = ScoreMemory(slots=4)
    assert memory.get(("key",)) is None
    assert memory.keep(("key",), scores) == scores
    assert memory.get(("key",)) == scores


def test_of_two_answers_the_first_one_is_kept():
    memory = ScoreMemory()
    assert [memory.keep(("key", 1), [[1.0]]), memory.keep(("key", 1), [[2.0]]), memory.get(("key", 1))] == [[[1.0]]] * 3
    assert memory.get(("key", 2)) is None


def test_it_holds_no_more_than_its_slots():
    memory = ScoreMemory(slots=8)
    for number in range(100):
        memory.keep((number,), [[float(number)]])
    kept = [number for number in range(100) if memory.get((number,)) is not None]
    assert len(kept) <= 8
    assert all(memory.get((number,)) == [[float(number)]] for number in kept)


def test_what_is_larger_than_a_slot_is_not_kept():
    memory = ScoreMemory(slots=2, slot_bytes=64)
    assert memory.keep(("large",), [[1.0] * 9]) == [[1.0] * 9]
    assert memory.get(("large",)) is None
    memory.keep(("small",), [[1.0] * 4])
    assert memory.get(("small",)) == [[1.0] * 4]


@pytest.mark.parametrize("at", [0, 15, 16, 20, 22, 25, 30, 45])
def test_a_damaged_slot_counts_as_empty(at):
    memory = ScoreMemory(slots=1, slot_bytes=128)
    memory.keep(("key",), SCORES)
    memory._memory[at] ^= 0xFF
    assert memory.get(("key",)) is None
    memory.keep(("key",), SCORES)
    assert memory.get(("key",)) == SCORES


FORKED = """
import os
from search.memory.scores import ScoreMemory

memory = ScoreMemory()
children = []
for number in range(3):
    child = os.fork()
    if not child:
        memory.keep(("shared", number), [[float(number)]])
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print([memory.get(("shared", number)) for number in range(3)])
"""


def test_forked_processes_share_it():
    """In a process of its own: one with threads should not fork."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[[[0.0]], [[1.0]], [[2.0]]]"


def test_texts_that_are_no_unicode_are_keys_too():
    memory = ScoreMemory()
    memory.keep(("\ud800", frozenset()), SCORES)
    assert memory.get(("\ud800", frozenset())) == SCORES
