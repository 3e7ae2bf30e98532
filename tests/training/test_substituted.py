"""Sentences of reports with another name instead of a finding's."""

from __future__ import annotations

import pytest
import radiology_reports

from encoders.labels.pairs import Pair
from encoders.labels.sentences import LabelledSentence, assign_folds, label_sentences, match_concepts
from encoders.labels.tasks.substituted import make_substituted_pairs, names
from mappings.analysis.mentions.findings import findings
from mappings.analysis.mentions.negation import negated, polarity

SENTENCES = list(label_sentences(radiology_reports.reports()))
SIDES = assign_folds(match_concepts(SENTENCES))


@pytest.fixture(scope="module", params=[1, 2])
def fold(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module")
def pairs(fold: int) -> list[Pair]:
    return make_substituted_pairs(SENTENCES, SIDES, fold)


def says(text: str, name: str) -> bool | None:
    """Whether `name` is there by `text`; None where it is not named."""
    start = text.lower().find(name)
    return None if start < 0 else not negated(text, start, start + len(name))


def test_a_sentence_says_of_the_new_name_what_its_query_asks_for(pairs: list[Pair]) -> None:
    assert pairs
    for pair in pairs:
        name, present = pair.group, ":yes:" in pair.id
        assert name in pair.query
        assert says(pair.positive.text, name) is present
        assert pair.positive.id in pair.relevant


def test_negatives_say_the_opposite_or_the_same_of_another_name(pairs: list[Pair]) -> None:
    for pair in pairs:
        name, present = pair.group, ":yes:" in pair.id
        told = [says(text.text, name) for text in pair.negatives]
        assert set(told) <= {None, not present}
        assert {None, not present} <= set(told)
        assert not {text.id for text in pair.negatives} & set(pair.relevant)


def test_nothing_of_the_finding_whose_place_it_took_is_left() -> None:
    found = [LabelledSentence("1-0", "Stable pneumothorax.", {"pneumothorax": True}, frozenset())]
    found += [LabelledSentence("1-1", "No pneumothorax.", {"pneumothorax": False}, frozenset())]
    made = make_substituted_pairs(found, {"pneumothorax": 1}, 1)
    assert {pair.positive.text for pair in made if pair.group == "gout"} == {"Stable gout.", "No gout."}
    assert not any("pneumothorax" in pair.positive.text for pair in made)


def test_a_fold_gives_only_the_frames_of_its_own_findings() -> None:
    found = [LabelledSentence("1-0", "Stable pneumothorax.", {"pneumothorax": True}, frozenset())]
    assert make_substituted_pairs(found, {"pneumothorax": 1}, 2) == []


def test_the_names_are_no_findings_and_none_holds_another_or_a_cue() -> None:
    assert len(names()) > 300
    for name in names():
        assert not findings(name)
        assert not any(other in name for other in names() if other != name)
        assert polarity(f"There is {name}.", 9, 9 + len(name)) == "present"


def test_the_same_pairs_in_whatever_order_the_names_were_read(pairs: list[Pair], fold: int) -> None:
    names.cache_clear()
    assert make_substituted_pairs(SENTENCES, SIDES, fold) == pairs
