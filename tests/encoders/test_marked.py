"""Vectors that keep apart what a text states and what it rules out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from encoders.hashing import HashingEncoder
from encoders.marked import (
    MarkedEncoder,
    base_fingerprint,
    mark_fingerprint,
    marking_of,
    short_fingerprint,
    turn,
)
from encoders.pooling import Floats
from mappings.clinical.marking import MARKING_VERSION
from mappings.marking import Marking
from search.protocols import Encoder
from search.timed_models import TimedEncoder

BASE = HashingEncoder()
ALL, RULED_OUT = Marking(3.0, 3.0), Marking(0.0, 1.0)
TEXTS = ("", "Seen in clinic.", "Pneumonia.", "No pneumonia.", "Gout, no fever.", "Heart size is normal.", "No fever.")
numbers = st.floats(-100, 100, width=32)


def vector(text: str, marking: Marking = ALL) -> Floats:
    return MarkedEncoder(BASE, marking).encode_queries([text])[0]


@given(arrays.arrays(np.float32, st.integers(1, 6).map(lambda half: 2 * half), elements=numbers))
def test_a_turned_vector_is_perpendicular_and_as_long(row: Floats) -> None:
    assert float(row @ turn(row)) == pytest.approx(0, abs=1e-2)
    assert np.linalg.norm(turn(row)) == pytest.approx(float(np.linalg.norm(row)), rel=1e-5)
    assert np.array_equal(turn(turn(row)), -row)


@given(arrays.arrays(np.float32, (2, 8), elements=st.floats(-1, 1, width=32)))
def test_a_turn_keeps_angles(pair: Floats) -> None:
    assert float(turn(pair[0]) @ turn(pair[1])) == pytest.approx(float(pair[0] @ pair[1]), abs=1e-4)


def test_the_last_of_an_odd_number_of_coordinates_stays() -> None:
    assert turn(np.array([1.0, 2.0, 3.0], np.float32)).tolist() == [-2.0, 1.0, 3.0]


@pytest.mark.parametrize("marking", [ALL, RULED_OUT])
def test_a_text_without_mentions_keeps_its_vector(marking: Marking) -> None:
    texts = ["", "Seen in clinic.", "Results were sent."]
    marked = MarkedEncoder(BASE, marking)
    np.testing.assert_allclose(marked.encode_passages(texts), BASE.encode_passages(texts), atol=1e-6)
    np.testing.assert_allclose(marked.encode_queries(texts), BASE.encode_queries(texts), atol=1e-6)


def test_what_is_stated_is_left_to_the_words_where_it_has_no_weight() -> None:
    np.testing.assert_allclose(
        vector("Mild pneumonia.", RULED_OUT), BASE.encode_queries(["Mild pneumonia."])[0], atol=1e-6
    )


@pytest.mark.parametrize("marking", [ALL, RULED_OUT])
def test_opposite_polarities_are_apart_and_equal_ones_together(marking: Marking) -> None:
    assert vector("pneumonia", marking) @ vector("no pneumonia", marking) == pytest.approx(0, abs=1e-6)
    assert vector("no pneumonia", marking) @ vector("No evidence of pneumonia.", marking) == pytest.approx(1)
    assert vector("no defibrillator", marking) @ vector("Without an AICD.", marking) == pytest.approx(1)
    with_it, without_it = "Fever and pneumonia.", "Fever, but no pneumonia."
    assert vector("no pneumonia", marking) @ vector(without_it, marking) > vector("no pneumonia", marking) @ vector(
        with_it, marking
    )
    assert vector("pneumonia", marking) @ vector(with_it, marking) > vector("pneumonia", marking) @ vector(
        without_it, marking
    )


@given(st.lists(st.sampled_from(TEXTS), max_size=6))
def test_rows_are_of_unit_length_and_depend_on_their_text_only(texts: list[str]) -> None:
    marked = MarkedEncoder(BASE, ALL)
    rows = marked.encode_passages(texts)
    assert (rows.shape, rows.dtype) == ((len(texts), 256), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_allclose(row, marked.encode_passages([text])[0], atol=1e-6)


class Recorder(HashingEncoder):
    """An encoder that remembers what it read, and how long it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.seconds: list[float] = []
        self.tokens_run = 7
        self.form = "fp32"

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        self.read += texts
        return super().encode_passages(texts)

    def encode_passages_within(self, texts: Sequence[str], seconds: float) -> Floats:
        self.seconds.append(seconds)
        return self.encode_passages(texts)


def test_the_encoder_reads_words_and_each_name_once() -> None:
    base = Recorder()
    MarkedEncoder(base, ALL).encode_passages(["No fever.", "No fever, no chills.", "Walks."])
    assert base.read == ["fever", "chills", "Walks."]
    base.read.clear()
    MarkedEncoder(base, RULED_OUT).encode_passages(["Pneumonia."])
    assert base.read == ["Pneumonia."]


def test_it_is_an_encoder_that_passes_on_limits_and_counts() -> None:
    base = Recorder()
    marked = MarkedEncoder(base, ALL)
    assert isinstance(marked, Encoder)
    assert isinstance(marked, TimedEncoder)
    assert (marked.tokens_run, marked.form, marked.dimension) == (7, "fp32", 256)
    limited = marked.encode_passages_within(["No fever."], 0.25)
    assert base.seconds == [0.25]
    np.testing.assert_array_equal(limited, marked.encode_passages(["No fever."]))
    untimed = MarkedEncoder(BASE, ALL)
    np.testing.assert_array_equal(untimed.encode_passages_within(["No fever."], 0.25), limited)
    assert (untimed.tokens_run, untimed.form) == (0, "")


@given(st.floats(0, 100), st.floats(0.01, 100))
def test_a_fingerprint_names_encoder_and_marking(stated: float, ruled_out: float) -> None:
    marking = Marking(float(f"{stated:g}"), float(f"{ruled_out:g}"))
    named = mark_fingerprint("abc", marking)
    assert (base_fingerprint(named), marking_of(named)) == ("abc", marking)
    assert MarkedEncoder(BASE, marking).fingerprint == mark_fingerprint(BASE.fingerprint, marking)


@pytest.mark.parametrize(
    "fingerprint",
    ["abc", "abc+", "abc+marking-0/reading-1:3:3", f"abc+{MARKING_VERSION}", f"abc+{MARKING_VERSION}:3", f"abc+{MARKING_VERSION}:x:3", f"abc+{MARKING_VERSION}:3:0"],
)  # fmt: skip
def test_a_fingerprint_of_another_marking_has_none_that_is_known(fingerprint: str) -> None:
    assert marking_of(fingerprint) is None
    assert base_fingerprint(fingerprint) == "abc"


def test_people_read_a_short_fingerprint() -> None:
    assert short_fingerprint("0123456789abcdef") == "0123456789ab"
    assert short_fingerprint("0123456789abcdef+marking-1:3:3") == "0123456789ab+marking-1:3:3"
