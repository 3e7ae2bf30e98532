from __future__ import annotations

import pytest

from mappings.clinical.answers import answer

MARKS = (
    ":",
    ": ",
    " : ",
    "=",
    " = ",
    "|",
    " | ",
    "\t",
    " - ",
    "- ",
    " \u2013 ",
    "\u2014 ",
    "  ",
    "\n\n",
    "...",
    " .. ",
)
VALUES = {
    "none": "ruled-out",
    "N": "ruled-out",
    "(-)": "ruled-out",
    "Not present": "ruled-out",
    "yes": "present",
    "(+)": "present",
    "unknown": "uncertain",
    "?": "uncertain",
    "in remission": "historical",
}


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(("value", "expected"), VALUES.items())
def test_an_answer_follows_any_mark(mark: str, value: str, expected: str) -> None:
    assert answer(f"Has fever{mark}{value}", 4, 9) == expected
    assert answer(f"Has fever{mark}{value}, cough", 4, 9) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fever no", "ruled-out"),
        ("fever\tNIL, cough", "ruled-out"),
        ("fever GRADE: none", "ruled-out"),
        ("fever stage absent", "ruled-out"),
        ("fever score denied.", "ruled-out"),
        ("fever (mother)", "family"),
        ("fever: maternal aunt", "family"),
        ("fever (+)", "present"),
        ("fever(-ve)", "ruled-out"),
        ("fever+, cough", "present"),
        ("fever -", "ruled-out"),
        ("[x] fever", "present"),
        ("[ ] any new fever", "ruled-out"),
        ("\u2611 fever", "present"),
        ("\u2610 fever", "ruled-out"),
        ("(+) fever", "present"),
        ("(-ve)fever", "ruled-out"),
        ("cough, +fever", "present"),
        ("ROS: -cough -fever", "ruled-out"),
        ("fever [resolved]", "historical"),
        ("fever N", "ruled-out"),
        ("fever free", "ruled-out"),
        ("fever-like", "uncertain"),
        ("non fever", "ruled-out"),
        ("nonfever", "ruled-out"),
        ("post-fever", ""),
        ("fever nightly", ""),
        ("no fever or cough", ""),
        ("[x] one two three fever", ""),
        ("fever", ""),
    ],
)
def test_an_answer_beside_a_mention(text: str, expected: str) -> None:
    start = text.index("fever")
    assert answer(text, start, start + len("fever")) == expected
