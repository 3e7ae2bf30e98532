"""Cohorts end to end on invented notes: who is found, how patients stand to criteria, and the sentences that show it."""

from __future__ import annotations

from datetime import date

import pytest

from mappings.bundles import TermBundle
from mappings.documents import Access, Document, Section
from mappings.errors import InvalidInput, NotFound
from search.bootstrap import Medley
from search.cohorts.definition import CohortDefinition
from search.cohorts.read import read_definition
from search.cohorts.results import CohortEvidence, CohortPage
from search.cohorts.run import cohort
from search.pipeline.results import Span
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

CLINICAL = Access("u", frozenset({"clinical"}))
EVERYBODY = Access("u", frozenset({"*"}))


def note(name: str, patient: str, day: date | None, text: str, *labels: str, heading: str = "Findings") -> Document:
    fields = {name: value for name, value in (("patient", patient), ("date", day), ("type", "Report")) if value}
    return Document(name, "Chest radiograph", (Section(heading, text),), frozenset(labels or ["clinical"]), fields)


NOTES = (
    note("a1", "ann", date(2020, 1, 1), "Large pleural effusion. The heart is normal."),
    note("a2", "ann", date(2021, 1, 1), "No pneumothorax. Pleural effusion again."),
    note("b1", "bob", date(2020, 5, 5), "No pleural effusion."),
    note("b2", "bob", date(2020, 6, 5), "Possible pneumothorax. Oxygen on room air."),
    note("c1", "cem", None, "The lungs are clear."),
    note("d1", "dan", date(2020, 5, 5), "Pleural effusion.", "restricted"),
    note("d2", "dan", date(2020, 5, 6), "Possible pleural effusion, pneumothorax."),
    note("e1", "", date(2020, 5, 5), "Mother had a pleural effusion."),
)


BUNDLES = {
    name: TermBundle(str(number), name, terms)
    for number, (name, terms) in enumerate(
        [
            ("pleura", ("pleural effusion", "pneumothorax")),
            ("lung", ("pneumothorax", "pneumonia")),
            ("air", ("pneumothorax",)),
        ]
    )
}


@pytest.fixture(scope="module")
def medley(tmp_path_factory) -> Medley:
    return made(tmp_path_factory.mktemp("cohorts"))


def made(folder) -> Medley:
    medley = Medley.open(Settings(home=folder, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    medley.collections.store("notes").put(NOTES)
    index(medley)
    return medley


def index(medley: Medley) -> None:
    assert [item.cause for item in ingest(Indexer.of(medley, "notes")) if item.cause] == []


def ask(medley: Medley, access: Access = CLINICAL, after: str = "", size: int = 20, **groups) -> CohortPage:
    collection = medley.collections.get("notes")
    reader = medley.services.reader(collection)
    definition = read_definition(groups, collection, reader.lexicon, BUNDLES.__getitem__)
    return cohort(definition, access, medley.services, after, size)


def standings(page: CohortPage) -> dict[str, list[str]]:
    return {item.patient: [own.standing for own in item.standings] for item in page.patients}


def texts(page: CohortPage, patient: str, number: int = 0) -> list[str]:
    (found,) = [item for item in page.patients if item.patient == patient]
    return [item.text for item in found.standings[number].evidence]


def test_everybody_with_how_they_stand(medley):
    page = ask(medley, any=["pleural effusion", {"words": "lungs"}, {"words": "oxygen"}, {"words": "mother"}])
    assert standings(page) == {
        "ann": ["met", "not-mentioned", "not-mentioned", "not-mentioned"],
        "bob": ["ruled-out", "not-mentioned", "met", "not-mentioned"],
        "cem": ["not-mentioned", "met", "not-mentioned", "not-mentioned"],
        "id:e1": ["other", "not-mentioned", "not-mentioned", "met"],
    }
    assert (page.total, page.patients_known, page.counts, page.next) == (4, 5, (1, 1, 1, 1), "")
    assert [item.documents for item in page.patients] == [2, 2, 1, 1]


def test_a_bundle_is_met_by_any_of_its_concepts(medley):
    page = ask(medley, all=[{"bundle": "pleura"}])
    assert standings(page) == {"ann": ["met"]}
    assert page.counts == (1,)
    assert texts(page, "ann") == ["Pleural effusion again.", "Large pleural effusion."]
    doubted = ask(medley, all=[{"bundle": "pleura", "assertion": "uncertain"}])
    assert {item.patient: [one.concept for one in item.standings[0].evidence] for item in doubted.patients} == {
        "bob": ["pneumothorax"],
        "dan": ["pleural-effusion"],
    }


def test_a_bundle_is_ruled_out_when_all_of_it_is(medley):
    page = ask(medley, none=[{"bundle": "pleura"}])
    assert standings(page) == {
        "bob": ["uncertain"],
        "cem": ["not-mentioned"],
        "dan": ["uncertain"],
        "id:e1": ["other"],
    }
    assert texts(page, "bob") == ["Possible pneumothorax."]
    # Of pneumonia nobody says anything, so of ann the bundle is not ruled out as a whole.
    assert standings(ask(medley, any=["pleural effusion"], none=[{"bundle": "lung"}]))["ann"] == ["met", "other"]
    assert standings(ask(medley, any=["pleural effusion"], none=[{"bundle": "air"}]))["ann"] == ["met", "ruled-out"]


def test_a_bundle_contradicts_what_it_includes(medley):
    page = ask(medley, all=["pneumothorax"], none=[{"bundle": "pleura"}])
    assert page.notes == (
        "“pneumothorax” is asked for, and “pleura” is excluded, which everyone with it has: no patient can meet both",
    )
    assert ask(medley, all=[{"bundle": "pleura"}], none=["pneumothorax"]).notes == ()


def test_evidence_is_newest_first_with_its_place_in_the_document(medley):
    page = ask(medley, all=["pleural effusion"])
    (ann,) = page.patients
    assert texts(page, "ann") == ["Pleural effusion again.", "Large pleural effusion."]
    first, last = ann.standings[0].evidence[0], ann.standings[0].evidence[-1]
    assert first == CohortEvidence(
        document="a2",
        passage="a2@1#0",
        date=date(2021, 1, 1),
        type="Report",
        title="Chest radiograph",
        heading="Findings",
        text="Pleural effusion again.",
        start=17,
        end=40,
        mark=Span(0, 16),
        concept="pleural-effusion",
        assertion="present",
    )
    assert (last.document, last.text, last.mark) == ("a1", "Large pleural effusion.", Span(0, 22))


def test_what_a_patient_has_not_is_ruled_out_uncertain_or_not_mentioned(medley):
    page = ask(medley, none=["pleural effusion"])
    assert standings(page) == {
        "bob": ["ruled-out"],
        "cem": ["not-mentioned"],
        "dan": ["uncertain"],
        "id:e1": ["other"],
    }
    assert texts(page, "bob") == ["No pleural effusion."]
    assert texts(page, "cem") == []
    assert texts(page, "dan") == ["Possible pleural effusion, pneumothorax."]


def test_hidden_documents_change_neither_counts_nor_standings(medley):
    everything = ask(medley, access=EVERYBODY, all=["pleural effusion"])
    assert standings(everything) == {"ann": ["met"], "dan": ["met"]}
    nobody = ask(medley, access=Access("u", frozenset({"other"})), all=["pleural effusion"])
    assert (nobody.patients, nobody.total, nobody.patients_known, nobody.counts) == ((), 0, 0, (0,))


def test_only_documents_that_count_are_shown_for_what_is_met(medley):
    since = ask(medley, all=[{"concept": "pleural effusion", "since": "2020-06-01"}])
    assert {item.document for item in since.patients[0].standings[0].evidence} == {"a2"}
    until = ask(medley, none=[{"concept": "pleural effusion", "until": "2019-01-01"}], size=1)
    assert standings(until) == {"ann": ["other"]}


def test_word_criteria_show_the_sentence_with_the_words(medley):
    page = ask(medley, all=[{"words": '"room air"'}])
    (evidence,) = page.patients[0].standings[0].evidence
    assert (evidence.text, evidence.mark, evidence.concept) == ("Oxygen on room air.", Span(10, 18), "")


def test_a_document_that_meets_fields_alone_is_shown_by_its_opening(medley):
    page = ask(medley, all=[{"filters": {"type": ["Report"]}, "until": "2020-05-31"}])
    assert {item.patient: texts(page, item.patient) for item in page.patients} == {
        "ann": ["Large pleural effusion."],
        "bob": ["No pleural effusion."],
        "dan": ["Possible pleural effusion, pneumothorax."],
        "id:e1": ["Mother had a pleural effusion."],
    }
    (evidence,) = page.patients[0].standings[0].evidence
    assert (evidence.document, evidence.mark, evidence.concept) == ("a1", Span(0, 0), "")


def test_pages_follow_one_another(medley):
    first = ask(medley, size=2)
    second = ask(medley, after=first.next, size=2)
    third = ask(medley, after=second.next, size=2)
    assert [[item.patient for item in page.patients] for page in (first, second, third)] == [
        ["ann", "bob"],
        ["cem", "dan"],
        ["id:e1"],
    ]
    assert (first.total, third.next, third.notes) == (5, "", ())


@pytest.mark.parametrize(
    ("groups", "notes"),
    [
        ({"all": ["pleural effusion"], "none": ["pleural effusion"]}, 1),
        ({"all": [{"concept": "pleural effusion", "words": "large"}], "none": ["pleural effusion"]}, 1),
        ({"any": ["pleural effusion", "fever"], "none": ["fever", "pleural effusion"]}, 1),
        ({"all": ["pleural effusion"], "none": [{"concept": "pleural effusion", "words": "large"}]}, 0),
        ({"all": ["pleural effusion"], "none": [{"concept": "pleural effusion", "assertion": "ruled-out"}]}, 0),
        ({"any": ["pleural effusion", "fever"], "none": ["fever"]}, 0),
    ],
)
def test_a_contradiction_is_allowed_and_noted(medley, groups, notes):
    page = ask(medley, **groups)
    assert len(page.notes) == notes
    assert not notes or (page.patients, page.total) == ((), 0)


def test_a_narrower_finding_contradicts_a_wider_one_that_is_excluded(medley):
    page = ask(medley, all=["lobar pneumonia"], none=["pneumonia"])
    assert page.notes == (
        "“lobar pneumonia” is asked for, and “pneumonia” is excluded, which everyone with it has: no patient can meet both",
    )


@pytest.mark.parametrize("size", [0, 501, -1])
def test_a_size_that_is_not_allowed_is_an_error(medley, size):
    with pytest.raises(InvalidInput, match="between 1 and 500"):
        ask(medley, size=size)


def test_an_unknown_collection_is_an_error(medley):
    with pytest.raises(NotFound):
        cohort(CohortDefinition("nothing"), EVERYBODY, medley.services)


def test_replaced_and_deleted_documents_count_no_longer_before_the_index_knows(tmp_path):
    medley = made(tmp_path)
    store = medley.collections.store("notes")
    store.put([note("a2", "ann", date(2021, 1, 1), "Clear."), note("c1", "cem", None, "Pleural effusion.")])
    store.delete(["b1"])
    waiting = ask(medley, all=["pleural effusion"])
    assert texts(waiting, "ann") == ["Large pleural effusion."]
    assert (waiting.total, waiting.patients_known) == (1, 4)
    index(medley)
    indexed = ask(medley, any=["pleural effusion", {"words": "oxygen"}])
    assert standings(indexed) == {
        "ann": ["met", "not-mentioned"],
        "bob": ["not-mentioned", "met"],
        "cem": ["met", "not-mentioned"],
    }
