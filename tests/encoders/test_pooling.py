"""Pooling: padding never counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from encoders.pooling import mean, pool, unit

HIDDEN = np.array([[[1, 2], [3, 4], [5, 6]], [[1, 1], [9, 9], [9, 9]]], dtype=np.float32)
MASK = np.array([[1, 1, 1], [1, 0, 0]])


def test_mean_and_first_token_by_hand():
    assert mean(HIDDEN, MASK).tolist() == [[3, 4], [1, 1]]
    assert pool(HIDDEN, MASK, "mean").tolist() == [[3, 4], [1, 1]]
    assert pool(HIDDEN, MASK, "cls").tolist() == [[1, 2], [1, 1]]
    assert pool(HIDDEN, MASK, "last").tolist() == [[5, 6], [1, 1]]


def test_what_padding_holds_never_counts():
    poisoned = HIDDEN.copy()
    poisoned[1, 1:] = [[np.nan, np.inf], [-np.inf, np.nan]]
    assert mean(poisoned, MASK).tolist() == [[3, 4], [1, 1]]


def test_no_real_token_is_no_division_by_zero():
    assert mean(HIDDEN, np.zeros((2, 3))).tolist() == [[0, 0], [0, 0]]


@given(arrays(np.float32, (4, 5), elements=st.floats(-1e4, 1e4, width=32)))
def test_rows_have_length_one(vectors):
    rows = unit(vectors)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(unit(rows), rows, atol=1e-5)
