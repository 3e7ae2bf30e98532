from __future__ import annotations

import re

import pytest

from mappings.analysis.mentions.cue_pattern import WordPatterns, word_pattern
from mappings.analysis.mentions.cues import Cue, CueKind
from mappings.clinical.patterns.doubts import DOUBTS
from mappings.clinical.patterns.prospects import PROSPECTS
from mappings.clinical.persistence import is_intervention

KIND = CueKind("before", "uncertain")
PATTERNS = WordPatterns(
    [word_pattern("risk danger", re.compile("a (?:risk|danger)"), KIND), word_pattern("x", re.compile("."), KIND)]
)


def test_a_pattern_is_tried_once_where_one_of_its_words_stands() -> None:
    text = "a risk and a danger"
    assert list(PATTERNS.find(text, text.split())) == [Cue(0, 6, *KIND), Cue(11, 19, *KIND)]


def test_a_pattern_is_not_tried_without_its_words() -> None:
    assert list(PATTERNS.find("a risk", ["other"])) == []


def test_the_group_named_cue_is_the_cue() -> None:
    patterns = WordPatterns([word_pattern("is", re.compile(r"cause (?P<cue>is)"), KIND)])
    assert list(patterns.find("the cause is gout", ["is"])) == [Cue(10, 12, *KIND)]


def test_the_words_of_the_shipped_patterns_are_in_lowercase() -> None:
    assert all(word == word.lower() and word.isalnum() for pattern in (*PROSPECTS, *DOUBTS) for word in pattern.words)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("amiodarone", True),
        ("hernia repair", True),
        ("clozapine", True),
        ("amiodarone toxicity", False),
        ("heparin-induced thrombocytopenia", False),
        ("catheter-related infection", False),
        ("penicillin allergy", False),
        ("gout", False),
    ],
)
def test_a_condition_named_after_a_drug_is_no_intervention(name: str, expected: bool) -> None:
    assert is_intervention(name) is expected
