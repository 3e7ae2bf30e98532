"""The criteria of a search: chips that can be removed and changed, what `without` means, and the sentences behind hits."""

from urllib.parse import parse_qs

import pytest
from browsing import Page, get, send

from mappings.clinical.concepts import shipped_concepts
from search.query import NOT_PRESENT, LexicalQuery
from search.understanding.criteria import Criterion
from search.understanding.understand import Understanding
from web.pages.addresses import SearchAddress
from web.pages.chips import CriterionChips

LEXICON = shipped_concepts()
BOTH = (
    Criterion("PNA", "pneumonia", "pneumonia", "present", "text"),
    Criterion("effusion", "effusion", "effusion", NOT_PRESENT, "text"),
)


def chips_of(criteria, unknown=(), **given):
    understood = Understanding(LexicalQuery(()), "", frozenset(), (), (), criteria=criteria, unknown=unknown)
    pairs = [(name, value) for name, value in given.items() if value]
    return CriterionChips(understood, SearchAddress.of([("collection", "notes"), *pairs]), LEXICON)


def pairs_of(address):
    return {name: value for name, value in address.pairs if name != "collection"}


def test_a_criterion_of_the_text_becomes_a_finding_when_another_one_is_removed():
    chip = chips_of(BOTH, text="PNA without effusion", absence="").chips[1]
    assert (chip.prefix, chip.name, chip.typed) == ("without", "effusion", "")
    assert pairs_of(chip.without) == {"text": "PNA without effusion", "with": "pneumonia", "plain": "true"}


def test_each_choice_states_what_documents_must_say():
    first, second = chips_of(BOTH, text="PNA without effusion").chips
    assert first.typed == "PNA"
    assert {words: pairs_of(other).get("with") for words, other in second.choices} == {
        "with effusion": "pneumonia, effusion",
        "ruled out: effusion": "pneumonia, ruled-out:effusion",
        "in the past: effusion": "pneumonia, historical:effusion",
        "in the family: effusion": "pneumonia, family:effusion",
        "uncertain: effusion": "pneumonia, uncertain:effusion",
        "hypothetical: effusion": "pneumonia, hypothetical:effusion",
    }
    assert dict(first.choices)["without pneumonia"].get("without") == "pneumonia, effusion"


def test_findings_change_alone_and_leave_the_text_as_it_is():
    slots = (Criterion("fever", "fever", "fever", "present", "with"), BOTH[1])
    chip = chips_of(slots, ("zorblax",), text="no effusion", **{"with": "fever, zorblax"}).chips[0]
    assert pairs_of(dict(chip.choices)["ruled out: fever"]) == {
        "text": "no effusion",
        "with": "ruled-out:fever, zorblax",
    }
    assert pairs_of(chip.without) == {"text": "no effusion", "with": "zorblax"}


def test_words_that_name_nothing_are_a_chip_that_can_be_removed():
    found = chips_of(BOTH[:1], ("zorblax",), **{"with": "pneumonia,zorblax"})
    ((name, other),) = found.words
    assert (name, pairs_of(other)) == ("zorblax", {})  # the criterion was read from a text, so it is no finding


def test_a_name_with_a_comma_goes_into_a_list_by_another_name():
    commas = [item for item in LEXICON if "," in item.name]
    assert commas
    for item in commas:
        chip = chips_of((Criterion(item.name, item.id, item.name, "present", "with"),)).chips[0]
        (value,) = parse_qs(dict(chip.choices)[f"in the past: {item.name}"].query_string)["with"]
        assert LEXICON.named(value.removeprefix("historical:")) is item
        assert "," not in value


@pytest.mark.parametrize(
    ("criteria", "given", "expected"),
    [
        (BOTH, {"text": "PNA without effusion"}, ["no sentence says that it is present"]),
        (BOTH[:1], {"text": "PNA"}, None),
        (
            (Criterion("effusion", "effusion", "effusion", "ruled-out", "without"),),
            {"absence": "ruled-out"},
            ["a sentence rules it out"],
        ),
        ((Criterion("effusion", "effusion", "effusion", "ruled-out", "with"),), {"absence": "ruled-out"}, None),
    ],
)
def test_the_meaning_of_without_is_a_choice_where_it_matters(criteria, given, expected):
    found = chips_of(criteria, **given)
    assert ([words for words, _, chosen in found.meanings if chosen] if found.lacking else None) == expected


def test_a_hit_shows_the_sentence_behind_each_criterion(client):
    page = get(client, "/search?collection=notes&text=pneumonia+without+effusion")
    assert "2 documents match the criteria" in page.text
    assert "with pneumonia Change with pneumonia" in page.text
    assert "with pneumonia FINDINGS Right lower lobe pneumonia . present" in page.text.replace(
        "pneumonia.", "pneumonia ."
    )
    assert "without effusion FINDINGS No effusion . ruled out" in page.text.replace("effusion.", "effusion .")
    assert {attrs["class"] for attrs in page.all("mark")} == {"says-present", "says-ruled-out"}


def test_without_a_sentence_the_page_says_so(client):
    page = get(client, "/search?collection=notes&with=pneumonia&without=fever")
    assert "without fever no sentence says that it is present" in page.text


def test_a_changed_chip_of_a_private_search_is_sent_by_post(client):
    page = Page(send(client, "/search", {"collection": "notes", "text": "pneumonia without effusion"}).text)
    states = {attrs["value"] for attrs in page.all("button", form="again", name="state")}
    wanted = "collection=notes&with=pneumonia%2C+ruled-out%3Aeffusion&plain=true"
    assert wanted in states
    answer = Page(send(client, "/search", {"text": "pneumonia without effusion", "state": wanted}).text)
    assert "The text is searched as plain words." in answer.text
    assert "ruled out: effusion Change" in answer.text
    assert answer.value("plain") == "true"


def test_the_form_keeps_how_without_is_meant_and_sends_nothing_for_the_usual(client):
    page = get(client, "/search?collection=notes&with=pneumonia&without=effusion&absence=ruled-out")
    (chosen,) = [attrs for attrs in page.all("input", type="radio") if "checked" in attrs]
    assert (chosen["name"], chosen["value"]) == ("absence", "ruled-out")
    usual = send(
        client, "/search", {"collection": "abstracts", "text": "statins", "absence": "not-present", "sort": "relevance"}
    )
    assert usual.headers["Location"] == "/search?collection=abstracts&text=statins"


def test_of_nothing_found_each_criterion_can_be_given_up(client):
    page = Page(send(client, "/search", {"collection": "notes", "with": "pneumonia, gout"}).text)
    assert "No document that you may see meets all of these criteria." in page.text
    assert "Leave out “with gout”" in page.text
    states = {attrs["value"] for attrs in page.all("button", form="again", name="state")}
    assert "collection=notes&with=pneumonia" in states


def test_of_nothing_found_the_reason_is_told_once(client):
    page = Page(send(client, "/search", {"collection": "notes", "with": "pneumonia, gout"}).text)
    assert page.text.count("meets all") == 1


def test_criteria_and_filters_lead_to_the_patients_who_meet_them(client):
    sent = {"collection": "notes", "text": "pneumonia without effusion", "filter.type": "Radiology"}
    page = Page(send(client, "/search", sent).text)
    rows = {attrs["name"]: attrs["value"] for attrs in page.all("input") if attrs.get("name", "")[-2:] in (".0", ".1")}
    assert rows == {
        "group.0": "all",
        "concept.0": "pneumonia",
        "assertion.0": "present",
        "filters.0": '{"type": "Radiology"}',
        "group.1": "none",
        "concept.1": "effusion",
        "assertion.1": "present",
        "filters.1": '{"type": "Radiology"}',
    }
    cohort = Page(send(client, "/cohorts", rows | {"collection": "notes"}).text)
    assert "1 of 2 patients meets these rows" in cohort.text
    assert "Also: type Radiology" in cohort.text
    assert page.all("form", action="/cohorts", target="_blank")


def test_articles_have_no_patients_to_count(client):
    page = get(client, "/search?collection=abstracts&with=statins&text=mortality")
    assert not page.all("form", action="/cohorts")


@pytest.mark.parametrize(
    ("address", "leads_to"),
    [
        ("/compare", "/saved?kind=cohort"),
        ("/compare?a=x", "/saved?kind=cohort"),
        ("/patient", "/"),
        ("/patient?collection=notes", "/search?collection=notes"),
    ],
)
def test_an_address_that_names_nothing_leads_to_where_it_is_chosen(client, address, leads_to):
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (303, leads_to)


def test_the_name_of_one_concept_brings_those_who_have_it_first(client):
    page = Page(send(client, "/search", {"collection": "notes", "text": "effusion"}).text)
    assert "with effusion Change with effusion" in page.text
    assert "Documents that say so come first." in page.text
    assert "2 documents match the words" in page.text
    assert "with effusion FINDINGS Pneumonia with large effusion . present" in page.text.replace(
        "effusion.", "effusion ."
    )
    first, last = page.text.index("large effusion"), page.text.index("No effusion")
    assert first < page.text.index("From here on, documents do not say so") < last
    assert "no sentence found" not in page.text


def test_a_preference_can_be_made_a_criterion_or_dropped(client):
    page = Page(send(client, "/search", {"collection": "notes", "text": "effusion"}).text)
    states = {attrs["value"] for attrs in page.all("button", form="again", name="state")}
    only, plain = "collection=notes&with=effusion&plain=true", "collection=notes&plain=true"
    assert {only, plain} <= states
    answer = Page(send(client, "/search", {"text": "effusion", "state": only}).text)
    assert "1 document matches the criteria" in answer.text
    words = Page(send(client, "/search", {"text": "effusion", "state": plain}).text)
    assert "Documents that say so come first." not in words.text
    assert "The text is searched as plain words." in words.text


def test_two_joined_names_are_criteria(client):
    page = get(client, "/search?collection=notes&text=pneumonia+with+effusion")
    assert "1 document matches the criteria" in page.text
