from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.mentions.phrases import TAU, Phrases, likeness, split


def found(phrases: list[str], text: str) -> list[str]:
    return [phrases[match.phrase] for match in Phrases(phrases).find(split(text))]


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("effusion", "effusions", 8 / 9),
        ("opacity", "opacities", 6 / 9),
        ("consolidation", "consolidative", 11 / 13),
        ("mass", "masses", 4 / 6),
        ("body", "bodies", 3 / 6),
        ("rib", "ribs", 3 / 4),
        ("line", "linear", 0),
        ("mass", "massive", 0),
        ("fibrosis", "fibrotic", 0),
        ("effusion", "edema", 0),
    ],
)
def test_words_are_alike_by_their_common_prefix(one: str, other: str, share: float) -> None:
    assert likeness(one, other) == likeness(other, one) == pytest.approx(share)


@given(st.text("aceinost", min_size=5, max_size=14), st.text("aceinost", min_size=5, max_size=14))
def test_longer_words_are_alike_as_the_formula_says(one: str, other: str) -> None:
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    share = shared / max(len(one), len(other))
    assert likeness(one, other) == pytest.approx(share if share > TAU else 0)
    assert Phrases([one]).find(split(other)) == [] or share > TAU


@pytest.mark.parametrize(
    ("phrases", "text", "expected"),
    [
        (["effusion", "pleural effusion"], "Small pleural effusions.", ["pleural effusion"]),
        (["effusion", "pleural effusion"], "Pericardial effusion.", ["effusion"]),
        (["enlarged heart"], "The heart is again mildly enlarged.", ["enlarged heart"]),
        (["enlarged heart"], "Enlarged left breast; the heart is small.", []),
        (["enlarged heart"], "The heart is small and the aorta enlarged.", []),
        (["enlarged heart"], "Heart far away from any one thing that is enlarged.", []),
        (["blunting of the costophrenic angle"], "Blunted left costophrenic angle", []),
        (["blunted costophrenic angle"], "Blunted left costophrenic angles", ["blunted costophrenic angle"]),
        (["acute disease", "airspace disease"], "Acute airspace disease.", ["airspace disease"]),
        (["pneumonia", "pneumonitis"], "Radiation pneumonitis.", ["pneumonitis"]),
        (["chronic obstructive pulmonary disease"], "Obstructive pulmonary disease", ["chronic obstructive pulmonary disease"]),
        (["chronic obstructive pulmonary disease"], "Pulmonary disease", []),
        (["mass"], "Mass, mass", ["mass", "mass"]),
        (["mass"], "", []),
    ],
)  # fmt: skip
def test_a_phrase_is_found_near_together_and_the_longest_counts(
    phrases: list[str], text: str, expected: list[str]
) -> None:
    assert found(phrases, text) == expected


WORDS = ["nodule", "calcified", "granuloma", "lung", "lungs", "scar", "no", "and", ",", "."]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_no_match_lies_within_another_and_each_holds_its_words(text: str) -> None:
    phrases = ["nodule", "calcified nodule", "calcified lung nodule", "lung granuloma", "granuloma", "scar"]
    words = split(text)
    matches = Phrases(phrases).find(words)
    for match in matches:
        wanted = phrases[match.phrase].split()
        assert all(any(likeness(word, words[at].text) for at in match.words) for word in wanted)
        assert len({words[at].part for at in match.words}) == 1
        assert not any(set(match.words) <= set(other.words) for other in matches if other != match)
    assert matches == Phrases(phrases).find(words)


@given(st.sampled_from(["nodules", "granulomas", "scars", "calcified nodules"]))
def test_a_phrase_alone_is_always_found(text: str) -> None:
    assert found(["nodule", "calcified nodule", "granuloma", "scar"], text) != []


def test_a_phrase_needs_a_word() -> None:
    with pytest.raises(ValueError, match="the phrase 'of the' has only function words"):
        Phrases(["of the"])


@pytest.mark.parametrize("between", [0, 1, 2, 3])
def test_at_most_two_words_stand_between_the_words_of_a_phrase(between: int) -> None:
    text = " ".join(["Heart", *(f"w{number}" for number in range(between)), "enlarged"])
    assert found(["enlarged heart"], text) == (["enlarged heart"] if between <= 2 else [])


def test_words_that_share_just_tau_are_not_alike() -> None:
    assert TAU == 0.65
    assert likeness("a" * 13 + "b" * 7, "a" * 13 + "c" * 7) == 0
    assert likeness("a" * 14 + "b" * 6, "a" * 14 + "c" * 6) == 0.7
