"""Findings of abstracts in a newspaper's words."""

from __future__ import annotations

import pytest

from encoders.labels.pairs import Text
from encoders.labels.split import bucket
from encoders.labels.tasks.headlines import label_headlines, lay_names, put_plainly
from mappings.analysis.lexicon import rows
from mappings.clinical.reading import shipped_reader

CLAIM = "Simvastatin reduces mortality in patients with myocardial infarction (p < 0.01); further trials are needed"
BODY = "We gave simvastatin or placebo to 400 patients for two years."


def headline(claim: str, key: str = "one") -> str:
    return put_plainly(claim, shipped_reader(), key)


def test_names_and_words_are_exchanged_and_what_is_in_brackets_or_after_a_semicolon_is_left_out() -> None:
    found = headline(CLAIM)
    for left_out in ("imvastatin", "reduces", "mortality", "myocardial", "0.01", "further"):
        assert left_out not in found
    assert found[0].isupper()
    assert found == headline(CLAIM)


def test_another_key_chooses_other_names() -> None:
    assert len({headline(CLAIM, str(number)) for number in range(20)}) > 5


@pytest.mark.parametrize("claim", ["Simvastatin was given", "MI and RAS", "", "(", "reduces"])
def test_too_little_to_exchange_makes_no_headline(claim: str) -> None:
    assert headline(claim) == ""


def test_short_forms_stay_since_they_mean_too_much() -> None:
    assert "RAS" in headline("RAS reduces mortality in patients with asthma")


def test_a_name_inside_a_longer_word_stays() -> None:
    assert "Non-patients" in headline("non-patients: simvastatin reduces mortality")


def test_lay_names_are_those_that_research_does_not_use() -> None:
    concept = shipped_reader().lexicon.named("myocardial infarction")
    assert concept is not None
    research = {name.lower() for row in rows("common_names") if row[0] == concept.id for name in row[1].split("|")}
    assert lay_names(concept)
    assert research.isdisjoint(name.lower() for name in lay_names(concept))
    assert concept.name not in lay_names(concept)


def test_findings_that_the_task_conclusion_shows_become_no_headlines() -> None:
    conclusions = {f"a{number}": (CLAIM, Text(f"a{number}", "A trial", "", BODY)) for number in range(40)}
    dropped = {"headline: findings with fewer than two names or words to exchange": 0}
    pairs = list(label_headlines(conclusions, shipped_reader(), dropped, 2))
    assert {pair.group for pair in pairs} == {name for name in conclusions if bucket(f"conclusion:{name}", 2) == 1}
    assert all(pair.positive.text == BODY and pair.relevant == (pair.group,) for pair in pairs)
    assert not sum(dropped.values())


def test_what_has_too_little_to_exchange_is_counted() -> None:
    dropped = {"headline: findings with fewer than two names or words to exchange": 0}
    conclusions = {f"a{number}": ("Nothing is known yet", Text(f"a{number}", "", "", BODY)) for number in range(10)}
    assert not list(label_headlines(conclusions, shipped_reader(), dropped, 2))
    assert sum(dropped.values()) == sum(bucket(f"conclusion:a{number}", 2) == 1 for number in range(10))


def test_every_plain_wording_keeps_the_direction_of_the_claim() -> None:
    up, down = ("rais", "boost", "bigger", "higher", "drive up"), ("cut", "bring", "lower", "drop", "slash", "curb")
    for technical, *plain in rows("plain_words"):
        words = technical.lower()
        if words.startswith(("reduc", "decreas", "lower")):
            assert not any(part in word for word in "".join(plain).split("|") for part in up), technical
        if words.startswith(("increas", "elevat", "higher")):
            assert not any(part in word for word in "".join(plain).split("|") for part in down), technical
