from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis import words
from mappings.analysis.words import MAX_WORD, STOP_WORDS, Token, lower, spaced_terms, terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IL-6", ["il", "6"]),
        ("don't", ["don't"]),
        ("the patient's x-rays", ["patient", "x", "ray"]),
        ("2.5 mg, 1,000 ml", ["2.5", "mg", "1,000", "ml"]),
        ("3.5mg p53 2nd", ["3.5mg", "p53", "2nd"]),
        ("COVID-19", ["covid", "19"]),
        ("foo_bar __ _x_", ["foo_bar", "_x_"]),
        ("e.g. U.S.A.", ["e.g", "u.s.a"]),
        ("a1.b 1.b a.1", ["a1", "b", "1", "b", "1"]),
        ("interval intervals", ["interv", "interv"]),
        ("TNF-α naïve β2", ["tnf", "α", "naïv", "β2"]),
        ("Alzheimer’s Alzheimer's", ["alzheim", "alzheim"]),
        ("cafe\u0301s \u0301", ["cafe\u0301"]),
        ("日本 カタカナ ひら", ["日", "本", "カタカナ", "ひ", "ら"]),
        ("ไทย 한국어", ["ไทย", "한국어"]),
        ("m² ½ 0·05 mg·kg", ["m", "0", "05", "mg·kg"]),
        ("😀 + ± – ,", []),
        ("'quoted' (brackets)", ["quot", "bracket"]),
        ("x\u200by z\u00adw", ["x", "y", "z\u00adw"]),
        ("", []),
    ],
)
def test_words_are_those_of_the_standard_tokenizer(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_stop_words_leave_gaps_and_offsets_are_characters() -> None:
    assert tokens("The end of α-pain") == [
        Token("end", 4, 7, 1),
        Token("α", 11, 12, 3),
        Token("pain", 13, 17, 4),
    ]


def test_runs_of_underscores_take_no_position() -> None:
    assert [token.position for token in tokens("one ___ two")] == [0, 1]


def test_there_are_lucenes_33_stop_words() -> None:
    assert len(STOP_WORDS) == 33
    assert terms(" ".join(STOP_WORDS)) == []


def test_long_words_are_cut_at_255() -> None:
    text = "x" * 600
    assert [(token.start, token.end) for token in tokens(text)] == [(0, 255), (255, 510), (510, 600)]
    assert terms(text) == ["x" * 255, "x" * 255, "x" * 90]


def test_a_cut_never_ends_with_a_separator() -> None:
    text = "x" * 254 + "." + "y" * 10
    assert [(token.start, token.end) for token in tokens(text)] == [(0, 254), (255, 265)]


def test_small_letters_one_for_one() -> None:
    assert lower("ΟΔΟΣ İ’") == "οδοσ i'"


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("aZ1.,:;'_ -’é\u0301日"))))
@settings(max_examples=150, deadline=None)
def test_tokens_are_ordered_disjoint_and_name_their_source(text: str) -> None:
    found = tokens(text)
    assert [token.term for token in found] == terms(text)
    for before, after in pairwise(found):
        assert before.end <= after.start
        assert before.position < after.position
    for token in found:
        assert 0 <= token.start < token.end <= len(text)
        assert token.end - token.start <= MAX_WORD
        assert terms(text[token.start : token.end]) == [token.term]


@given(st.text(alphabet="the of_aB9.,:;'é漢 -") | st.text())
@settings(max_examples=150, deadline=None)
def test_spaced_terms_are_at_the_positions_of_the_tokens(text: str) -> None:
    for given_text in (text, f"{text} {'x' * 2 * MAX_WORD} the {text}"):
        expected = [(token.position, token.term) for token in tokens(given_text)]
        assert [item for item in enumerate(spaced_terms(given_text)) if item[1]] == expected


@given(st.text(alphabet="aB9.,:;'_ -"))
@settings(max_examples=150, deadline=None)
def test_the_fast_way_for_ascii_agrees_with_the_general_one(text: str) -> None:
    assert tokens(text) == tokens(text + " é")[: len(tokens(text))]


@pytest.mark.parametrize("unit", ["x", "_", "!", "x.", "é", "日"])
def test_long_runs_take_linear_time(unit: str) -> None:
    started = time.process_time()
    tokens(unit * 100_000)
    assert time.process_time() - started < 6


_ODD = (
    "aA1b2_ .:',;-+()\n\t\"\u00e9\u2018\u2019\u00b7\u00b5\u03b2\u4e2d\u3042\u30ab\u0e44\u05d0\u0301\u200d\u00b2\u202f"
)


@given(st.text(st.sampled_from(_ODD), max_size=40))
def test_runs_of_letters_are_taken_as_the_rules_take_them(text: str) -> None:
    by_the_rules = [text[start:end] for start, end in words._matches(text)]
    placed = [
        (start + first, start + end) for start, run in words._placed_runs(text) for first, end in words._places_in(run)
    ]
    assert [text[start:end] for start, end in placed] == by_the_rules
    assert placed == list(words._matches(text))
    assert [run for _, run in words._placed_runs(text)] == words._runs(text)
    wanted = set(terms(text)[::2])
    assert words.places(text, wanted) == [(token.start, token.end) for token in tokens(text) if token.term in wanted]
