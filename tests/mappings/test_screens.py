from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.mentions.screens import blanked, lowered, words_of

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
