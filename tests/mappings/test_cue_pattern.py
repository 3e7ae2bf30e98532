from __future__ import annotations

import re

import pytest

from mappings.analysis.mentions.cue_pattern import CuePattern, WordPattern, word_pattern
from mappings.analysis.mentions.cues import Cue, CueKind
from mappings.analysis.mentions.screens import Screened
from mappings.clinical.patterns.doubts import DOUBTS
from mappings.clinical.patterns.prospects import PROSPECTS
from mappings.clinical.persistence import is_intervention

KIND = CueKind("before", "uncertain")
RISK = word_pattern("risk danger", re.compile("a (?:risk|danger)"), KIND)


@pytest.mark.parametrize("pattern", [RISK, CuePattern((" risk", " danger"), RISK.pattern, KIND)])
def test_a_pattern_finds_cues_where_one_of_its_words_stands(pattern: CuePattern | WordPattern) -> None:
    found = pattern.find(Screened.of("A danger: a risk and a danger"))
    assert list(found) == [Cue(10, 16, *KIND), Cue(21, 29, *KIND)]
    assert list(pattern.find(Screened.of("a dangerous")) if isinstance(pattern, WordPattern) else ()) == []


def test_a_pattern_finds_none_without_its_words() -> None:
    assert list(word_pattern("x", re.compile("."), KIND).find(Screened.of("a risk"))) == []
    assert list(CuePattern(("x",), re.compile("."), KIND).find(Screened.of("a risk"))) == []


def test_the_group_named_cue_is_the_cue() -> None:
    pattern = word_pattern("is", re.compile(r"cause (?P<cue>is)"), KIND)
    assert list(pattern.find(Screened.of("the cause is gout"))) == [Cue(10, 12, *KIND)]


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
