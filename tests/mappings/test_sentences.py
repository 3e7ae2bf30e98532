from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.sentences import MAX_CHARACTERS, sentences


def cut(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It was 2.5 vs. 3.1 (p < .05). It fell.", ["It was 2.5 vs. 3.1 (p < .05).", "It fell."]),
        ("Dr. Smith gave 5 mg p.o. b.i.d. He improved.", ["Dr. Smith gave 5 mg p.o. b.i.d.", "He improved."]),
        ("E. coli grew, e.g. in E. Coli Nissle.", ["E. coli grew, e.g. in E. Coli Nissle."]),
        ("Smith et al. The end.", ["Smith et al.", "The end."]),
        ("See Fig. 2 and No. 3. He said no. The end.", ["See Fig. 2 and No. 3.", "He said no.", "The end."]),
        ("1. Pneumonia. 2. Effusion.", ["1. Pneumonia.", "2. Effusion."]),
        (
            "Plan: 1. Rest. The man was 65. The woman was not.",
            ["Plan: 1. Rest.", "The man was 65.", "The woman was not."],
        ),
        (
            "PLAN:,1.  She will try it.,2.  The left lung, too.",
            ["PLAN:,", "1.  She will try it.,", "2.  The left lung, too."],
        ),
        ("No fever. ,HEENT:  Clear.,Lungs:  Clear.", ["No fever. ,", "HEENT:  Clear.,", "Lungs:  Clear."]),
        ("It rose.The rest fell.", ["It rose.", "The rest fell."]),
        ("The pH fell. pH was 7.4. p53 rose.", ["The pH fell.", "pH was 7.4.", "p53 rose."]),
        ("Seen approx. The rest (messrs. Smith).", ["Seen approx. The rest (messrs. Smith)."]),
        ("Approximately. The. Xapprox. The end.", ["Approximately.", "The.", "Xapprox.", "The end."]),
        ("Given b.i.d. The end .\u00a0 \u2003 Again", ["Given b.i.d.", "The end .", "Again"]),
        ("Wait... What?! ...Yes.No", ["Wait...", "What?!", "...Yes.", "No"]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("First line\nSecond line\n\nThird", ["First line", "Second line", "Third"]),
        ("- one\n- two", ["- one", "- two"]),
        (
            "This line is wrapped by an editor at a width of seventy or so, and\ngoes on here. Done.",
            ["This line is wrapped by an editor at a width of seventy or so, and\ngoes on here.", "Done."],
        ),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_of_notes_and_abstracts(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_run_without_any_end_is_cut_at_spaces() -> None:
    found = cut("word " * 1000)
    assert max(map(len, found)) <= MAX_CHARACTERS
    assert " ".join(found).split() == ["word"] * 1000


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("aA1 .,:;!?\n\"')-"))))
@settings(max_examples=200, deadline=None)
def test_sentences_are_ordered_disjoint_and_cover_everything(text: str) -> None:
    found = sentences(text)
    for sentence in found:
        assert 0 <= sentence.start < sentence.end <= len(text)
        assert sentence.end - sentence.start <= MAX_CHARACTERS
        assert text[sentence.start : sentence.end] == text[sentence.start : sentence.end].strip()
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert "".join("".join(cut(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("unit", ["a", "a ", ".", ".)", "!", "a.", "\n", " ", "no. ", "a\n", ":,"])
def test_long_runs_take_linear_time(unit: str) -> None:
    started = time.process_time()
    sentences(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 4
