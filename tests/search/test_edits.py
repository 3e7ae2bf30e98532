"""Distances of a mistyped text from many names at once, beside the definition computed letter by letter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.completion.edits import WIDTH, EditDistances, allowed_edits

LETTERS = st.text("abc é", min_size=0, max_size=14)
FAR = 99


def distance(one: str, other: str) -> int:
    """Edits from one text to another: letters left out, added or changed, and neighbours swapped."""
    table = {(row, 0): row for row in range(len(one) + 1)} | {(0, column): column for column in range(len(other) + 1)}
    for row in range(1, len(one) + 1):
        for column in range(1, len(other) + 1):
            ways = [
                table[row - 1, column] + 1,
                table[row, column - 1] + 1,
                table[row - 1, column - 1] + (one[row - 1] != other[column - 1]),
            ]
            if row > 1 and column > 1 and one[row - 2 : row] == other[column - 2 : column][::-1]:
                ways.append(table[row - 2, column - 2] + 1)
            table[row, column] = min(ways)
    return table[len(one), len(other)]


def ends_fit(typed: str, text: str, end: int) -> bool:
    beginning = text[:end]
    swapped = len(typed) > 1 and end > 1 and beginning[-1] == typed[-2] and beginning[-2] == typed[-1]
    return end == len(text) or beginning[-1] == typed[-1] or swapped


def expected(typed: str, texts: list[str]) -> dict[int, int]:
    """Number of each text that begins near what was typed -> its distance."""
    found = {}
    for number, text in enumerate(texts):
        ends = (end for end in range(1, len(text) + 1) if ends_fit(typed, text, end))
        least = min((distance(typed, text[:end]) for end in ends), default=FAR)
        if least <= allowed_edits(typed):
            found[number] = least
    return found


def near(typed: str, texts: list[str]) -> dict[int, int]:
    compared = EditDistances(texts)
    rows, distances = compared.near(typed, compared.candidates(typed))
    return dict(zip(rows.tolist(), distances.tolist(), strict=True))


@given(typed=st.text("abc é", min_size=1, max_size=12), texts=st.lists(LETTERS, min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_every_text_within_the_allowed_edits_is_found_and_no_other(typed, texts):
    assert near(typed, texts) == (expected(typed, texts) if allowed_edits(typed) else {})


@pytest.mark.parametrize(
    ("typed", "name", "edits"),
    [
        ("metfromin", "metformin", 1),
        ("neumonia", "pneumonia", 1),
        ("pnuemonia", "pneumonia", 1),
        ("diabtes melitus", "diabetes mellitus", 2),
        ("hear failure", "heart failure with reduced ejection fraction", 1),
        ("asprin", "aspirin", 1),
        ("asperrin", "aspirin", 2),
        ("warg", "warfarin", None),
        ("warf", "war wound", None),
        ("assperrin", "aspirin", None),
        ("cta", "cat", None),
    ],
)
def test_typing_mistakes(typed, name, edits):
    assert near(typed, [name, "something else"]) == ({} if edits is None else {0: edits})


def test_how_many_edits_a_text_may_be_away():
    assert [allowed_edits("a" * size) for size in range(10)] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert allowed_edits("a b c") == 0


def test_letters_that_no_name_has_long_texts_and_no_names_at_all():
    assert near("αβγδε", ["alpha", "beta"]) == {}
    assert near("metform漢n", ["metformin"]) == {0: 1}
    assert near("a" * (WIDTH + 1), ["a" * (WIDTH + 1)]) == {}
    assert near("a" * WIDTH, ["a" * 200, "a" * (WIDTH - 1)]) == {0: 0, 1: 1}
    assert near("heart", []) == {}
    compared = EditDistances(["", "a"])
    rows, distances = compared.near("heart", np.asarray([0, 1]))
    assert (rows.tolist(), distances.tolist()) == ([], [])
