"""What a question names is also searched by its other names, unless they add nothing or it means something else."""

import pytest

from mappings.analysis.words import terms
from mappings.clinical.concepts import common_names, shipped_concepts
from mappings.clinical.reading import shipped_reader
from mappings.documents import Access
from search.query import Query
from search.understanding.names import MAX_NAMED, everyday_names, other_names
from search.understanding.understand import EXPANSION_WEIGHT, understand

READER = Access("reader", frozenset({"public"}))
CONCEPTS = shipped_concepts()


def also(text, *as_typed):
    kept = frozenset(tuple(terms(name)) for name in as_typed)
    return {item.typed: item.names for item in other_names(text, shipped_reader(), kept)}


def asked(text, weight=0.5, **more):
    return understand(Query("abstracts", READER, text, **more), reader=shipped_reader(), name_weight=weight)


@pytest.mark.parametrize(
    ("text", "typed", "name"),
    [
        ("who gets a heart attack", "heart attack", "myocardial infarction"),
        ("outlook after MI", "MI", "heart attack"),
        ("who gets a myocardial infarction", "myocardial infarction", "heart attack"),
        ("do water pills help", "water pills", "diuretic"),
        ("Ozempic and appetite", "Ozempic", "semaglutide"),
        ("is Calpol safe for babies", "Calpol", "acetaminophen"),
        ("the shingles jab", "shingles jab", "zoster vaccine"),
        ("keyhole surgery", "keyhole surgery", "minimally invasive surgery"),
        ("which blood thinners are safest", "blood thinners", "anticoagulant"),
    ],
)
def test_a_name_is_searched_by_the_preferred_one_or_a_common_one(text, typed, name):
    assert name in also(text)[typed]


def test_a_longer_form_of_what_was_typed_is_found_anyway():
    assert "diabetes mellitus" not in also("diabetes in children").get("diabetes", ())
    assert also("coffee drinkers live longer") == {}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("sad songs say so much", False),
        ("a sad mood in adults", True),
        ("an operation of the army", False),
        ("the operation at the hospital", True),
        ("the gallop of a horse", False),
        ("a gallop of the heart", True),
        ("tired of politics", False),
        ("tired after chemotherapy", True),
    ],
)
def test_an_everyday_word_counts_where_its_neighbors_are_medical(text, expanded):
    assert bool(also(text).keys() & {"sad", "operation", "gallop", "tired"}) is expanded


def test_what_is_kept_as_typed_is_searched_by_no_other_name():
    text = "water pills after a heart attack"
    assert list(also(text, "Heart attacks")) == ["water pills"]
    assert also(text, "heart attack", "water pill") == {}


def test_only_the_first_names_of_a_text_count():
    names = [
        "gallstones",
        "piles",
        "shingles",
        "chickenpox",
        "measles",
        "sciatica",
        "hives",
        "gout",
        "dandruff",
        "bunions",
        "epilepsy",
        "migraine",
    ]
    assert len(also(" and ".join(names))) <= MAX_NAMED


def test_the_other_names_stand_in_place_of_the_typed_one():
    found = asked("statins after a heart attack")
    (group,) = (item for item in found.lexical.alternatives if "attack" in item.typed)
    assert group.typed == ("heart", "attack")
    assert (("myocardi", "infarct"), 0.5) in group.phrases
    assert {"myocardi", "infarct"} <= found.terms
    assert dict(found.lexical.terms)["attack"] == 1.0
    assert found.model_text == "statins after a heart attack"


def test_abbreviations_are_shown_in_the_same_list_and_taken_back_in_the_same_way():
    names = {item.typed: item.names for item in asked("outlook after MI").names}
    assert names["MI"][0] == "myocardial infarction"
    assert "heart attack" in names["MI"]
    kept = asked("outlook after MI", as_typed=("MI",))
    assert (kept.names, kept.expansions, kept.lexical.phrases, kept.lexical.alternatives) == ((), (), (), ())


def test_a_kind_without_the_weight_is_searched_as_before():
    found = asked("outlook after a heart attack", weight=0.0)
    assert (found.lexical.alternatives, found.names) == ((), ())
    assert {weight for _, weight in asked("MI", weight=0.0).lexical.phrases} == {EXPANSION_WEIGHT}


def test_a_phrase_in_quotes_is_searched_as_it_is():
    assert asked('"heart attack" outlook').lexical.alternatives == ()
    assert asked("heart attack outlook").lexical.alternatives != ()


def test_slots_name_things_too():
    assert "heart attack" in [item.typed for item in asked("", entity="heart attack", aspect="treatment").names]


def test_common_names_are_names_of_their_concepts():
    wrong = [(concept, name) for concept, names in common_names().items() for name in names if name not in CONCEPTS.get(concept).names[1:]]  # fmt: skip
    assert wrong == []


def test_everyday_names_are_names_of_one_word_that_the_lexicon_has():
    assert everyday_names()[tuple(terms("stroke"))] >= frozenset(terms("brain patient"))
    known = {tuple(terms(name)) for item in CONCEPTS for name in item.names}
    assert [key for key in everyday_names() if len(key) != 1 or key not in known] == []
