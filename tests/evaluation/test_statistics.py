"""Intervals and the paired test: known answers, symmetry, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.statistics import closed_share, compare, interval
from mappings.errors import InvalidInput

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


@settings(max_examples=30, deadline=None)
@given(VALUES)
def test_the_interval_holds_the_mean_and_stays_in_the_range(values: np.ndarray) -> None:
    found = interval(values, resamples=500)
    assert found.value == pytest.approx(values.mean())
    assert values.min() - 1e-12 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= values.max() + 1e-12


def test_the_interval_is_the_normal_one_for_many_queries() -> None:
    values = np.random.default_rng(3).normal(0.6, 0.2, 4000)
    error = 1.96 * values.std() / np.sqrt(values.size)
    found = interval(values)
    assert found.low == pytest.approx(values.mean() - error, abs=error / 10)
    assert found.high == pytest.approx(values.mean() + error, abs=error / 10)
    assert found == interval(values)


def test_equal_systems_do_not_differ() -> None:
    values = np.random.default_rng(4).random(50)
    found = compare(values, values)
    assert (found.difference.value, found.difference.low, found.difference.high, found.p) == (0, 0, 0, 1.0)
    assert found.p >= 0.05


def test_p_is_exact_where_all_flips_can_be_counted() -> None:
    # Five equal gains: only the two one-sided flips of 32 are as far from zero, p = 2/32.
    found = compare(np.ones(5), np.zeros(5), resamples=40_000)
    assert found.p == pytest.approx(2 / 32, abs=0.005)


def test_a_clear_gain_is_significant_and_swapping_turns_it_round() -> None:
    source = np.random.default_rng(5)
    worse = source.random(300)
    better = worse + source.normal(0.05, 0.1, 300)
    up, down = compare(better, worse), compare(worse, better)
    assert up.p < 0.05
    assert up.difference.low > 0
    assert up.difference.value == pytest.approx(-down.difference.value)
    assert up.p == pytest.approx(down.p, abs=0.01)


def test_wrong_shapes_are_errors() -> None:
    with pytest.raises(InvalidInput, match="same queries; got 2 and 3"):
        compare(np.zeros(2), np.zeros(3))
    with pytest.raises(InvalidInput, match="at least one value"):
        interval(np.zeros(0))


def test_the_share_of_the_distance_that_is_closed() -> None:
    theirs = np.array([0.0, 0.5, 1.0, 0.5])
    half = theirs + (1 - theirs) / 2
    assert closed_share(half, theirs).as_json() == {"value": 0.5, "low": 0.5, "high": 0.5}
    assert closed_share(theirs, theirs).value == 0
    assert closed_share(theirs, half).value < 0
    assert closed_share(np.ones(4), np.ones(4)).as_json() == {"value": 0.0, "low": 0.0, "high": 0.0}
    mixed = closed_share(np.array([1.0, 0.0, 1.0, 1.0]), theirs)
    assert mixed.low < mixed.value < mixed.high
    assert mixed.value == pytest.approx(0.5)
    with pytest.raises(InvalidInput, match="the same queries"):
        closed_share(theirs, theirs[:2])
