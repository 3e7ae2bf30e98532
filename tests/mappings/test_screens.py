from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.mentions.screens import ScreenedPattern, blanked, lowered, words_of
from mappings.clinical import cue_patterns
from mappings.clinical.cue_patterns import CuePatterns
from mappings.clinical.cue_rules import classes

SCREENED = [
    item
    for holder in (cue_patterns, CuePatterns(classes()["relative"]))
    for item in vars(holder).values()
    if isinstance(item, ScreenedPattern)
]
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("aZ9 _'’\u0130\u00df\u0660-.,\n")), max_size=40)


@given(TEXTS)
def test_the_words_are_the_runs_of_letters_and_digits(text: str) -> None:
    words, place = words_of(text), 0
    found = []
    for word in words:
        if word:
            found.append((word, place))
        place += len(word) + 1
    assert found == [(match[0], match.start()) for match in re.finditer(r"[^\W_]+", lowered(text))]


@given(TEXTS)
def test_every_character_stays_in_its_place(text: str) -> None:
    assert len(lowered(text)) == len(blanked(text)) == len(text)
    assert blanked(text) == "".join(character if character.isalnum() else " " for character in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", [""]), ("No fever, EF 55%", ["no", "fever", "", "ef", "55", ""]), ("a_b\u2013c", ["a", "b", "c"])],
)
def test_empty_words_stand_for_wider_gaps(text: str, expected: list[str]) -> None:
    assert words_of(text) == expected


@pytest.mark.parametrize("screened", SCREENED, ids=lambda item: item.pattern.pattern[:40])
@given(data=st.data())
@settings(max_examples=40)
def test_no_screen_hides_a_match(screened: ScreenedPattern, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(screened.pattern))
    found = [match.span() for match in screened.find(text, words_of(text))]
    assert found == [match.span() for match in screened.pattern.finditer(text)] != []


def test_a_text_without_its_words_is_not_searched() -> None:
    screened = ScreenedPattern("no (?:fever|cough)", ("no",))
    assert [match[0] for match in screened.find("NO cough", words_of("NO cough"))] == ["NO cough"]
    assert screened.find("nocturnal cough", words_of("nocturnal cough")) == ()
