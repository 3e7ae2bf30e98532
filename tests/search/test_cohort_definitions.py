"""Cohort definitions as JSON: what is read, what is refused and how, and that what is written back reads the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.bundles import TermBundle, nearest_names
from mappings.clinical.concepts import shipped_concepts
from mappings.clinical.cue_rules import ASSERTIONS
from mappings.collection import load
from mappings.errors import InvalidInput
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.read import definition_as_json, read_definition
from search.query import Range, Terms

NOTES = load("notes")
LEXICON = shipped_concepts()


def read(value, collection=NOTES, lexicon=LEXICON) -> CohortDefinition:
    return read_definition(value, collection, lexicon)


def test_a_definition_is_read_whole():
    found = read(
        {
            "collection": "notes",
            "all": [
                {"concept": "Heart Attack", "assertion": "historical", "until": "2020-12-31"},
                {"words": 'oxygen "room air"', "filters": {"type": ["Progress note"], "date": {"gte": "2020-01-01"}}},
            ],
            "any": ["dyspnea", {"concept": "dyspnea", "assertion": "ruled-out", "within_days": 30, "of": 0}],
            "none": [{"since": "2019-02-28", "typed": "seen lately"}],
        }
    )
    filters = (Range("date", low=date(2020, 1, 1)), Terms("type", ("Progress note",)))
    assert found == CohortDefinition(
        "notes",
        all=(
            CohortCriterion("Heart Attack", "myocardial-infarction", "historical", until=date(2020, 12, 31)),
            CohortCriterion('oxygen "room air"', words='oxygen "room air"', filters=filters),
        ),
        any=(
            CohortCriterion("dyspnea", "dyspnea"),
            CohortCriterion("dyspnea", "dyspnea", "ruled-out", within_days=30, of=0),
        ),
        none=(CohortCriterion("seen lately", since=date(2019, 2, 28)),),
    )


def test_an_assertion_without_a_concept_says_nothing():
    assert read({"all": [{"words": "fever", "assertion": "family"}]}) == read({"all": [{"words": "fever"}]})


def test_everybody_is_a_definition():
    assert read({}) == CohortDefinition("notes")
    assert definition_as_json(read({})) == {"collection": "notes"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "body must be an object"),
        ({"some": []}, "no field 'some' in body"),
        ({"collection": "abstracts"}, "another collection than 'notes'"),
        ({"all": {}}, "all must be a list"),
        ({"all": [3]}, r"all\.0 must be an object"),
        ({"all": ["fever", {"concpet": "fever"}]}, r"no field 'concpet' in all\.1; known are concept,"),
        ({"any": [{}]}, r"any\.0 asks for nothing"),
        ({"none": [{"typed": "x", "assertion": "present"}]}, r"none\.0 asks for nothing"),
        ({"all": ["pnuemonia"]}, r"all\.0\.concept: 'pnuemonia' names no concept.*did you mean pneumonia"),
        ({"all": ["xyzzy"]}, r"'xyzzy' names no concept of the lexicon; ask for 'words' instead"),
        ({"all": [{"concept": 7}]}, r"all\.0\.concept must be a text"),
        ({"all": [{"concept": "fever", "assertion": "absent"}]}, r"assertion is 'absent'; it must be one of present,"),
        ({"all": [{"words": "of the"}]}, r"all\.0\.words has only words that every text has"),
        ({"all": [{"words": "x" * 501}]}, "at most 500 characters"),
        ({"all": [{"since": "2020"}]}, r"all\.0\.since must be a date as YYYY-MM-DD, and '2020' is not one"),
        ({"all": [{"until": "2020-02-30"}]}, r"until must be a date"),
        ({"all": [{"since": "2020-02-02", "until": "2020-02-01"}]}, "since 2020-02-02 is after until 2020-02-01"),
        ({"all": [{"filters": {"ward": "A"}}]}, r"all\.0: there is no field 'ward'"),
        ({"all": [{"filters": {"date": {"low": "2020-01-01"}}}]}, r"no field 'low' in all\.0\.filters\.date"),
        ({"all": [{"filters": ["type"]}]}, r"all\.0\.filters must be an object"),
        ({"all": [{"concept": "fever", "within_days": 3}]}, "criterion 0: 'within_days' and 'of' are given together"),
        ({"all": [{"concept": "fever", "within_days": 3, "of": 0}]}, "counted from itself"),
        ({"all": [{"concept": "fever", "within_days": 3, "of": 4}]}, "no criterion 4"),
        ({"all": ["fever", {"concept": "fever", "within_days": -1, "of": 0}]}, "between 0 and 40,000"),
        ({"all": ["fever", {"concept": "fever", "within_days": "3", "of": 0}]}, "must be a whole number"),
        ({"all": ["fever", {"concept": "fever", "within_days": True, "of": 0}]}, "must be a whole number"),
        ({"all": ["fever"] * 201}, "201 criteria; at most 200"),
        ({"all": ["fever"] * 100, "any": ["fever"] * 100, "none": ["fever"]}, "201 criteria; at most 200"),
    ],
)
def test_what_is_wrong_is_named(value, message):
    with pytest.raises(InvalidInput, match=message):
        read(value)


def test_documents_that_are_not_read_have_words_and_no_concepts():
    with pytest.raises(InvalidInput, match="are not read for concepts; ask for 'words' instead"):
        read({"all": ["fever"]}, lexicon=None)
    assert read({"all": [{"words": "fever"}]}, lexicon=None).all == (CohortCriterion("fever", words="fever"),)


def test_dates_need_a_field():
    with pytest.raises(InvalidInput, match="have no date"):
        read({"all": [{"since": "2020-01-01"}]}, collection=load("articles"))


def test_the_nearest_names_are_of_different_concepts():
    near = nearest_names("hart failure", LEXICON)
    assert near[0] == "heart failure"
    concepts = [LEXICON.named(name) for name in near]
    assert len({item.id for item in concepts if item}) == len(near) <= 3


CHEST = TermBundle("0123456789abcdef", "chest", ("pneumonia", "Effusion"))


def bundled(reference: str) -> TermBundle:
    if reference in (CHEST.id, CHEST.name):
        return CHEST
    if reference == "odd":
        return TermBundle("1", "odd", ("effusionn",))
    if reference == "long":
        return TermBundle("2", "long", tuple(item.id for item in LEXICON)[:101])
    raise InvalidInput(f"there is no bundle {reference!r}", field="bundle")


def test_a_bundle_stands_for_any_of_its_concepts():
    given = {
        "all": [{"bundle": "chest"}, "bundle:chest"],
        "none": [{"bundle": CHEST.id, "assertion": "family", "typed": "lungs"}],
    }
    found = read_definition(given, NOTES, LEXICON, bundled)
    understood = replace(CHEST, concepts=("pneumonia", "effusion"))
    assert found.all == (CohortCriterion("chest", bundle=understood),) * 2
    assert found.none == (CohortCriterion("lungs", assertion="family", bundle=understood),)
    written = definition_as_json(found)
    assert written == {
        "collection": "notes",
        "all": [{"bundle": CHEST.id, "assertion": "present"}] * 2,
        "none": [{"bundle": CHEST.id, "typed": "lungs", "assertion": "family"}],
    }
    assert read_definition(written, NOTES, LEXICON, bundled) == found


@pytest.mark.parametrize(
    ("given", "message", "field"),
    [
        (
            {"bundle": "odd"},
            r"all\.0\.bundle: the term 'effusionn' of the bundle 'odd'.*did you mean effusion",
            "bundle",
        ),
        ({"bundle": "none"}, r"all\.0\.bundle: there is no bundle 'none'", "bundle"),
        ({"bundle": "chest", "concept": "fever"}, "a concept or a bundle, not both", "bundle"),
        ({"bundle": 3}, "must be a text", "bundle"),
    ],
)
def test_a_bundle_that_can_not_be_used_is_named(given, message, field):
    with pytest.raises(InvalidInput, match=message) as caught:
        read_definition({"all": [given]}, NOTES, LEXICON, bundled)
    assert caught.value.field == f"all.0.{field}"


def test_bundles_have_no_more_concepts_than_an_engine_is_asked_for():
    with pytest.raises(
        InvalidInput, match="the criteria have 2,020 concepts with those of their bundles; at most 2,000"
    ):
        read_definition({"any": [{"bundle": "long"}] * 20}, NOTES, LEXICON, bundled)


def test_a_bundle_needs_documents_that_are_read():
    with pytest.raises(InvalidInput, match="are not read for concepts"):
        read_definition({"all": [{"bundle": "chest"}]}, NOTES, None, bundled)
    with pytest.raises(InvalidInput, match="there is no bundle 'chest' here"):
        read({"all": [{"bundle": "chest"}]})


concepts = st.sampled_from(["fever", "Fever", "COPD", "myocardial-infarction", "heart attack"])
days = st.dates(date(1900, 1, 1), date(2100, 1, 1))
filters = st.dictionaries(
    st.sampled_from(["type", "patient"]), st.lists(st.text("ab", min_size=1), min_size=1, unique=True)
)


@st.composite
def criteria(draw) -> dict:
    since, until = sorted(draw(st.tuples(days, days)))
    every = {
        "concept": draw(concepts),
        "typed": draw(st.sampled_from(["as the user said", "COPD"])),
        "assertion": draw(st.sampled_from(ASSERTIONS)),
        "words": draw(st.sampled_from(["oxygen", '"room air" oxygen'])),
        "filters": draw(filters),
        "since": since.isoformat(),
        "until": until.isoformat(),
    }
    kept = draw(st.sets(st.sampled_from(sorted(every))))
    return {name: value for name, value in every.items() if name in kept} | {"words": "fever"}


@given(st.fixed_dictionaries({name: st.lists(criteria(), max_size=3) for name in ("all", "any", "none")}))
def test_what_is_written_reads_the_same(value):
    for number, item in enumerate([*value["all"], *value["any"]]):
        if number:
            item |= {"within_days": number, "of": number - 1}
    definition = read(value)
    assert read(json.loads(json.dumps(definition_as_json(definition)))) == definition
