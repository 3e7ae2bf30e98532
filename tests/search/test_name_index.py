"""Finding names by what was typed of them: which come, and in which order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.completion.names import NameIndex, NameMatch, SpelledName, folded

THINGS = {
    "heart attack": (["myocardial infarction", "MI"], 9),
    "heart failure": (["congestive heart failure", "cardiac failure", "CHF"], 40),
    "heart": (["cor"], 3),
    "hearing loss": (["deafness"], 5),
    "metformin": (["Glucophage"], 7),
    "metformin poisoning": ([], 8),
    "Ménière disease": (["Ménière's disease"], 2),
    "open-heart surgery": ([], 1),
    "rare disease": (["heart of nobody"], 0),
}
SHORT = {"MI", "CHF"}


def index_of(things: dict[str, tuple[list[str], int]]) -> tuple[NameIndex, np.ndarray]:
    ordered = sorted(things)
    names = [
        SpelledName(number, text, preferred=text == name, short=text in SHORT)
        for number, name in enumerate(ordered)
        for text in (name, *things[name][0])
    ]
    return NameIndex(names), np.asarray([things[name][1] for name in ordered])


INDEX, COUNTS = index_of(THINGS)


def find(typed: str, limit: int = 10) -> list[tuple[str, str, int]]:
    return [(sorted(THINGS)[item.owner], item.text, item.rank) for item in INDEX.find(typed, COUNTS, limit)]


def test_the_order_of_the_ways_in_which_a_name_matches():
    assert find("heart") == [
        ("heart", "heart", 0),
        ("heart failure", "heart failure", 1),
        ("heart attack", "heart attack", 1),
        ("open-heart surgery", "open-heart surgery", 3),
    ]
    assert find("hear") == [
        ("heart failure", "heart failure", 1),
        ("heart attack", "heart attack", 1),
        ("hearing loss", "hearing loss", 1),
        ("heart", "heart", 1),
        ("open-heart surgery", "open-heart surgery", 3),
    ]
    assert find("c")[:2] == [("heart failure", "CHF", 2), ("heart", "cor", 2)]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("metfromin", [("metformin poisoning", "metformin poisoning", 4), ("metformin", "metformin", 4)]),
        ("glucofage", [("metformin", "Glucophage", 6)]),
        ("FAILURE", [("heart failure", "cardiac failure", 3)]),
        ("meniere", [("Ménière disease", "Ménière disease", 1)]),
        ("menieres dis", [("Ménière disease", "Ménière's disease", 2)]),
        ("  Open   HEART ", [("open-heart surgery", "open-heart surgery", 1)]),
        ("mi", [("heart attack", "MI", 0)]),
        ("cfh", []),
        ("rare disease", []),
        ("rare diseas", []),
        ("heart of nob", []),
    ],
)
def test_what_is_found_by(typed, found):
    assert find(typed) == found


@pytest.mark.parametrize("typed", ["", " ", "...", ".*", "[a-z]+", "(", "\\", "\x00", "'", "—", "\u0301", "🫀"])
def test_a_text_without_a_letter_finds_nothing_that_it_does_not_spell(typed):
    spelled = {name for name, (others, count) in THINGS.items() if count and folded(typed)}
    assert {name for name, _, _ in find(typed)} <= spelled


def test_characters_of_regular_expressions_are_plain_ones():
    assert [name for name, _, _ in find("heart.*")] == [name for name, _, _ in find("heart")]
    assert find("h.art attack")[0] == ("heart attack", "heart attack", 4)


def test_a_limit_keeps_the_best():
    assert find("hear", 2) == find("hear")[:2]
    assert len(find("h", 1)) == 1


def test_no_names_at_all():
    assert NameIndex([]).find("heart", np.zeros(0, np.int64), 10) == []


names = st.text("ab c", min_size=1, max_size=6).filter(str.strip)


@given(
    things=st.dictionaries(names, st.tuples(st.lists(names, max_size=2), st.integers(0, 3)), min_size=1, max_size=12),
    typed=st.text("abc", min_size=1, max_size=3),
    limit=st.integers(1, 5),
)
@settings(max_examples=200, deadline=None)
def test_short_texts_find_what_a_look_at_every_name_finds(things, typed, limit):
    index, counts = index_of(things)
    best = []
    for number, name in enumerate(sorted(things)):
        ranks = []
        for text in (name, *things[name][0]):
            words = folded(text)
            later = any(words[place + 1 :].startswith(typed) for place in range(len(words)) if words[place] == " ")
            if words == typed:
                ranks.append(0)
            elif words.startswith(typed):
                ranks.append(1 if text == name else 2)
            elif later:
                ranks.append(3)
        if ranks and counts[number]:
            best.append((min(ranks), -int(counts[number]), number))
    found = index.find(typed, counts, limit)
    assert all(isinstance(item, NameMatch) for item in found)
    assert [(item.rank, -int(counts[item.owner]), item.owner) for item in found] == sorted(best)[:limit]


def find_among(typed: str, *names: str) -> list[str]:
    index = NameIndex([SpelledName(at, name, preferred=True, short=name.isupper()) for at, name in enumerate(names)])
    return [item.text for item in index.find(typed, np.ones(len(names), np.int64), 10)]


def test_mistakes_are_thought_of_only_where_nothing_is_typed_right():
    assert find_among("gout", "gout", "goat allergy") == ["gout"]
    assert find_among("gouut", "gout", "boat allergy") == ["gout"]


def test_short_forms_are_never_found_by_mistake():
    assert find_among("nsiad", "NSAID") == []
    assert find_among("nsiad", "nsaid") == ["nsaid"]


def test_a_mistake_in_the_first_word_comes_before_one_in_a_later_word():
    assert find_among("metfromin", "a metformin", "metformin") == ["metformin", "a metformin"]
