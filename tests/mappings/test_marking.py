"""What a text states and rules out, apart from its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.marking import MARKING_VERSION, MarkedText, shipped_marker
from mappings.clinical.reading import READING_VERSION

NAMES = ("pleural effusion", "pneumonia", "fever", "gout", "hip fracture", "nausea", "cardiomegaly")
mark = shipped_marker().mark


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("", MarkedText("")),
        ("Results were sent to the clinic.", MarkedText("Results were sent to the clinic.")),
        ("pleural effusion", MarkedText("pleural effusion", stated=("pleural effusion",), stated_share=1.0)),
        ("no pleural effusion", MarkedText("", ruled_out=("pleural effusion",), ruled_out_share=1.0)),
        ("No evidence of gout.", MarkedText("", ruled_out=("gout",), ruled_out_share=1.0)),
        ("Mild gout, no fever.", MarkedText("Mild gout, no .", ("gout",), ("fever",), *[pytest.approx(1 / 3)] * 2)),
        ("Possible pneumonia.", MarkedText("Possible pneumonia.", stated=("pneumonia",), stated_share=0.5)),
        ("Mother had gout.", MarkedText("Mother had gout.")),
        ("Return if fever develops.", MarkedText("Return if fever develops.")),
        (
            "Heart size is normal.",
            MarkedText("Heart size is normal.", ruled_out=("cardiomegaly",), ruled_out_share=1.0),
        ),
        ("No fever. Fever today.", MarkedText("No . Fever today.", ("fever",), (), pytest.approx(1 / 3), 0.0)),
    ],
)  # fmt: skip
def test_a_text_is_marked(text: str, marked: MarkedText) -> None:
    assert mark(text) == marked


def test_names_are_those_that_the_lexicon_prefers() -> None:
    assert mark("Hypoinflation.").stated == mark("Low lung volumes.").stated == ("low lung volumes",)
    assert mark("no AICD").ruled_out == mark("no implantable defibrillator").ruled_out


@given(name=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
def test_the_opposite_statement_is_marked_oppositely(name: str, other: str) -> None:
    stated, ruled_out = mark(f"There is {name}."), mark(f"There is no {name}.")
    assert (stated.stated, stated.ruled_out) == (ruled_out.ruled_out, ruled_out.stated)
    if name != other:
        mixed, swapped = mark(f"There is {name} but no {other}."), mark(f"There is {other} but no {name}.")
        assert (mixed.stated, mixed.ruled_out) == (swapped.ruled_out, swapped.stated)
        assert other not in mixed.words
        assert name in mixed.words


@given(
    st.lists(st.sampled_from([*NAMES, "no", "denies", "possible", "mother has", ",", ".", "but", "walks"]), max_size=14)
)
def test_a_marked_text_is_consistent(parts: list[str]) -> None:
    text = " ".join(parts)
    found = mark(text)
    assert not set(found.stated) & set(found.ruled_out)
    assert found.stated == tuple(sorted(set(found.stated)))
    assert found.ruled_out == tuple(sorted(set(found.ruled_out)))
    assert (found.stated_share > 0) == bool(found.stated)
    assert (found.ruled_out_share > 0) == bool(found.ruled_out)
    assert max(found.stated_share, found.ruled_out_share) <= 1
    assert found.words or found.ruled_out or not text
    assert set(found.words.split()) <= set(text.split())


def test_the_version_names_that_of_the_reading() -> None:
    assert READING_VERSION in MARKING_VERSION
