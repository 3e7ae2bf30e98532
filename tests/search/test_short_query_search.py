"""Searches with short queries: documents that have the words stand above all others."""

import pytest
from small_collections import fill

from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

READER = Access("reader", frozenset({"clinical"}))


def note(name: str, title: str, *parts: str, patient: str = "") -> Document:
    sections = tuple(Section(heading, text) for heading, text in zip(parts[::2], parts[1::2], strict=True))
    return Document(
        name, title, sections, frozenset({"clinical"}), {"patient": patient or f"pat-{name}", "type": "Visit"}
    )


NOTES = [
    note("n1", "Discharge after CHF", "COURSE", "The heart failed in May; CHF was treated.", "PLAN", "Rest and walks."),
    note("n2", "A sad day", "HISTORY", "She was sobbing, and sad.", "PLAN", "Fluids and rest."),
    note("n3", "Visit", "HISTORY", "Congestive heart failure, on metformin.", "PLAN", "No change."),
    note("n4", "Visit", "HISTORY", "Metformin was stopped.", "PLAN", "Insulin at night, for breath and shortness."),
    note("n5", "Visit", "HISTORY", "Seasonal affective disorder in winter.", "PLAN", "Light."),
    note("n6", "Visit", "HISTORY", "SOB on stairs, no cough.", "PLAN", "Walks in the park are a day's rest."),
    *(note(f"x{number}", "Scalp was clipped", "COURSE", f"The scalp was clipped {number} times.") for number in range(12)),
]  # fmt: skip


@pytest.fixture(scope="module")
def medley(tmp_path_factory) -> Medley:
    made = Medley.open(Settings(home=tmp_path_factory.mktemp("short"), encoder="hashing-256", reranker="none"))
    fill(made, "notes", NOTES)
    return made


def found(medley: Medley, text: str, **more) -> list[str]:
    return [hit.document for hit in medley.search(Query("notes", READER, text, **more)).hits]


def test_exact_words_are_not_buried(medley):
    assert set(found(medley, "CHF")[:2]) == {"n1", "n3"}
    assert set(found(medley, "metformin")[:2]) == {"n3", "n4"}
    assert found(medley, "metformin insulin")[0] == "n4"  # the words stand in two passages of it
    assert found(medley, "scalp clipped visit") != []


def test_a_look_alike_of_an_abbreviation_stands_below(medley):
    assert found(medley, "SAD")[0] == "n5"
    assert found(medley, "SOB")[0] == "n6"
    assert found(medley, "sad")[0] == "n2"


def test_the_passage_that_says_it_is_shown_with_the_sentence_that_does(medley):
    hit = medley.search(Query("notes", READER, "CHF")).hits[0]
    hits = {hit.document: hit for hit in medley.search(Query("notes", READER, "CHF")).hits}
    assert hits["n1"].passage == "n1@1#0"
    assert "CHF" in hits["n1"].evidence[0].text
    assert hit.score <= 1.0


def test_scores_never_rise_and_are_never_negative(medley):
    scores = [hit.score for hit in medley.search(Query("notes", READER, "CHF", size=50)).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_quoted_phrase_is_required(medley):
    results = medley.search(Query("notes", READER, '"heart failure"'))
    assert ([hit.document for hit in results.hits], results.total.value) == (["n3"], 1)


def test_what_no_document_has_is_answered_with_the_nearest_and_a_note(medley):
    results = medley.search(Query("notes", READER, '"failure heart"'))
    assert results.hits
    assert results.total.value == 0
    assert "no document has all that was required" in results.understood.notes[0]


def test_an_excluded_word_leaves_its_documents_out_of_hits_and_total(medley):
    results = medley.search(Query("notes", READER, "metformin -insulin"))
    assert "n4" not in [hit.document for hit in results.hits]
    assert results.total.value == 1


def test_a_field_narrows_and_alone_lists(medley):
    assert found(medley, "metformin patient:pat-n4") == ["n4"]
    assert found(medley, "patient:PAT-N4") == ["n4"] or found(medley, "patient:pat-n4") == ["n4"]
    everything = medley.search(Query("notes", READER, "type:visit", size=50))
    assert len(everything.hits) == everything.total.value == len(NOTES)


def test_an_id_or_an_identifying_value_finds_its_document(medley):
    assert found(medley, "n4")[0] == "n4"
    assert found(medley, "pat-n5")[0] == "n5"
    results = medley.search(Query("notes", READER, "id:n5"))
    assert ([hit.document for hit in results.hits], results.total.value) == (["n5"], 1)


def test_an_id_that_nothing_has_finds_nothing(medley):
    results = medley.search(Query("notes", READER, "id:n500"))
    assert (results.hits, results.total.value) == ((), 0)


def test_the_meanings_of_an_abbreviation_are_told_apart(medley):
    results = medley.search(Query("notes", READER, "PD"))
    assert results.understood.asked[0].meanings == ("Parkinson disease", "peritoneal dialysis")
    assert all(hit.meanings == () for hit in results.hits)


def test_words_that_no_document_has_are_named(medley):
    notes = medley.search(Query("notes", READER, "PD metformin")).understood.notes
    assert notes == ("no document has “PD” and “metformin”: these are the nearest by words and meaning",)


@pytest.mark.parametrize(
    "text",
    ["a", "the of", "-", '"', '"heart failure', "year:", "colour:red", "metf*", "-aspirin", "word " * 1_900, "?", '""'],
)
def test_whatever_is_typed_is_answered(medley, text):
    assert medley.search(Query("notes", READER, text)).hits is not None


def test_an_empty_query_is_refused():
    with pytest.raises(InvalidInput, match="empty"):
        Query("notes", READER, " ")
