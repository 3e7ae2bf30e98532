"""Slots that a filter allows: found once, whoever asks at the same time, and kept within bounds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.engines.embedded.vectors import masks
from search.engines.embedded.vectors.masks import SlotMasks


def never() -> np.ndarray:
    raise AssertionError("these slots are known")


def test_of_several_threads_one_finds_the_slots() -> None:
    kept, calls, begun = SlotMasks(), [], threading.Barrier(8)

    def find() -> np.ndarray:
        calls.append(1)
        return np.arange(3)

    def ask(_: int) -> list[int]:
        begun.wait()
        return kept.get("a", find).tolist()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [[0, 1, 2]] * 8
    assert calls == [1]


def test_a_search_that_fails_is_asked_again() -> None:
    kept = SlotMasks()
    with pytest.raises(AssertionError, match="known"):
        kept.get("a", never)
    assert kept.get("a", lambda: np.array([4])).tolist() == [4]


@given(st.lists(st.sets(st.integers(0, 300)), max_size=8))
def test_slots_that_were_put_aside_come_back_as_they_were(sets: list[set[int]]) -> None:
    kept = SlotMasks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masks, "LISTED_BYTES", 0)  # the last ones alone stay listed
        for number, chosen in enumerate(sets):
            kept.get(number, lambda chosen=chosen: np.array(sorted(chosen), np.int64))
        for number, chosen in enumerate(sets):
            found = kept.get(number, never)
            assert (found.dtype, found.tolist()) == (np.int64, sorted(chosen))


def test_the_least_recently_used_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "KEPT", 2)
    kept = SlotMasks()
    for name in "ab":
        kept.get(name, lambda: np.arange(2))
    kept.get("a", never)
    kept.get("c", lambda: np.arange(2))
    kept.get("a", never)
    with pytest.raises(AssertionError, match="known"):
        kept.get("b", never)


def test_lists_take_no_more_than_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "LISTED_BYTES", 200)
    kept = SlotMasks()
    for name in "abcdef":
        kept.get(name, lambda: np.arange(10))
    assert sum(item.nbytes for item in kept._listed.values()) <= 200
