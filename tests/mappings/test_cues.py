from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.mentions.cues import Cue, CueKind, CueLexicon, cues, negation_classes, negation_phrases

CLASSES = {"seen": ("seen", "picked up"), "size": ("small", "X-large", "well-defined"), "his": ("his", "patient's")}
PHRASES = (
    "no",
    "no <size>* evidence of",
    "no <seen>",
    "not <size>* <seen>",
    "not on <his> list",
    "h/o",
    "vs.",
    "rule-out",
    "can't exclude",
    "no longer",
)
LEXICON = CueLexicon({CueKind("before", "ruled-out"): PHRASES}, CLASSES)
SHIPPED = [(kind, phrase) for kind, phrases in negation_phrases().items() for phrase in phrases]
PIECES = st.sampled_from(
    [
        "no",
        "not",
        "can't",
        "isn't",
        "ISN\u2019T",
        "h/o",
        "w/o",
        "vs.",
        "v",
        "seen",
        "small",
        "evidence",
        "of",
        "exclude",
        "longer",
        "no5",
        "no.",
        "\u00e9",
        "x_no",
        "picked up",
    ]
)
GAPS = st.sampled_from([" ", " ", " ", "  ", "\n", ", ", ". ", "-", "/"])


def found(sentence: str) -> list[str]:
    return [sentence[cue.start : cue.end] for cue in LEXICON.find(sentence)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("No fever", ["No"]),
        ("No small, X-large evidence of it", ["No"]),
        ("No small X-large evidence\nof it", ["No small X-large evidence\nof"]),
        ("no picked up", ["no picked up"]),
        ("It isn't seen, is not picked up", ["n't seen", "not picked up"]),
        ("ISN\u2019T WELL-DEFINED SEEN", ["N\u2019T WELL-DEFINED SEEN"]),
        ("not on patient's list, not on patients list", ["not on patient's list"]),
        ("H/O gout vs. pseudogout, h/op", ["H/O", "vs."]),
        ("rule-out, rule out", ["rule-out"]),
        ("can't exclude, can\u2019t exclude, cannot exclude", ["can't exclude"]),
        ("no longer, no  longer, no, longer", ["no longer", "no  longer", "no"]),
        ("no_fever nothing know", []),
        ("no. 5", ["no. 5"]),
        ("", []),
    ],
)
def test_the_longest_cue_is_found(sentence: str, expected: list[str]) -> None:
    assert found(sentence) == expected


@given(st.sampled_from(SHIPPED), st.data())
def test_every_phrase_is_found_with_any_word_of_its_classes(entry: tuple[CueKind, str], data: st.DataObject) -> None:
    kind, phrase = entry
    classes = negation_classes()
    words: list[str] = []
    for part in phrase.split():
        choices = st.sampled_from(classes[part.strip("<>*")]) if part.startswith("<") else st.just(part)
        many = data.draw(st.integers(0, 3)) if part.endswith("*") else 1
        words += (data.draw(choices) for _ in range(many))
    text = data.draw(st.sampled_from([" ", "\n", "  "])).join(words)
    text = data.draw(st.sampled_from([text, text.upper()]))
    expected = [Cue(0, len(text), *kind)]
    assert CueLexicon({kind: [phrase]}, classes).find(text) == expected


@given(st.lists(st.tuples(PIECES, GAPS)))
def test_other_words_in_a_sentence_change_no_cue(parts: list[tuple[str, str]]) -> None:
    sentence = "".join(piece + gap for piece, gap in parts)
    expected = LEXICON.find(sentence)
    for more in ("; z", "; \u00e9", "; z/p", "; zn't"):  # in other letters, and with words of two kinds
        assert [cue for cue in LEXICON.find(sentence + more) if cue.start < len(sentence)] == expected


def test_the_cues_of_negation_are_in_order_and_disjoint() -> None:
    sentence = "No change in effusion, which has not been seen; cannot exclude pneumonia"
    assert [(sentence[cue.start : cue.end], cue.kind) for cue in cues(sentence)] == [
        ("No change", "pseudo"),
        ("which", "relative"),
        ("not been seen", "after"),
        ("cannot exclude", "doubt-before"),
    ]
