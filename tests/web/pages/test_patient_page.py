"""The page of a patient: only documents that the caller may see, what they say, and no way to learn of others."""

from datetime import date

import pytest
from browsing import Page, get, send
from portal_home import note
from werkzeug.datastructures import MultiDict

from mappings.clinical.reading import shipped_reader
from mappings.collection import load
from mappings.documents import Document, Section
from web.cli.indexing import fill_quietly
from web.pages.patients.patient_page import OF_A_GROUP, ON_A_PAGE, PatientPage
from web.pages.patients.record import PatientRecord

READER = shipped_reader()
NOTES = load("notes")
ADDRESS = "/patient?collection=notes&document=p1%2Fn1"


def written(number, text, kind="Radiology", day=date(2020, 1, 5), heading="FINDINGS"):
    return note(f"p1/{number}", f"Note {number}", "ward-7", "p1", kind, day, Section(heading, text))


def page_of(*documents, **arguments):
    given = MultiDict([("collection", "notes"), ("document", "p1/1"), *arguments.items()])
    return PatientPage(PatientRecord(NOTES, "p1", documents, True), READER, given)


def said(page):
    """name -> [(assertion, first, last, documents)]."""
    return {
        problem.name: [(item.assertion, item.first, item.last, item.documents) for item in problem.statements]
        for group in page.groups
        for problem in group.problems
    }


def test_the_page_has_the_documents_the_problems_and_their_sentences(client):
    page = get(client, ADDRESS)
    assert "Patient p1 2 documents, 5 January 2020 to 9 January 2020" in page.text
    assert "lower lobe pneumonia present 5 January 2020" in page.text
    assert "FINDINGS Right lower lobe pneumonia ." in page.text
    assert "effusion ruled out 5 January 2020" in page.text
    assert page.links("/document?") == [
        "/document?collection=notes&id=p1%2Fn2#m-1",
        "/document?collection=notes&id=p1%2Fn1#m-1",
        "/document?collection=notes&id=p1%2Fn1#m-2",
        "/document?collection=notes&id=p1%2Fn2#m-2",
        "/document?collection=notes&id=p1%2Fn2",
        "/document?collection=notes&id=p1%2Fn1",
    ]
    for link in page.links("/document?"):
        place = link.partition("#")[2]
        assert not place or get(client, link.partition("#")[0]).all("span", id=place)


def test_the_patient_is_reached_from_a_hit_a_document_and_by_id(client):
    answer = Page(send(client, "/search", {"collection": "notes", "text": "pneumonia"}).text)
    assert len([item for item in answer.links("/patient?") if "document=p1" in item]) == 1
    assert ADDRESS in get(client, "/document?collection=notes&id=p1/n1").links("/patient?")
    sent = send(client, "/patient", {"collection": "notes", "patient": " p1 "})
    assert (sent.status_code, sent.headers["Location"]) == (303, "/patient?collection=notes&document=p1%2Fn2")
    named = Page(send(client, "/search", {"collection": "notes", "text": "p1"}).text)
    assert "All documents of patient p1" in named.text
    assert "All documents of patient" not in answer.text


def test_unknown_and_hidden_patients_are_answered_alike(client, token):
    ada = token("ada", "ward-7")
    assert get(client, ADDRESS, headers=ada)
    answers = {
        (answer.status_code, answer.text.replace(answer.headers["X-Request-ID"], ""))
        for answer in (
            client.get("/patient?collection=notes&document=p2%2Fn1", headers=ada),
            client.get("/patient?collection=notes&document=p9%2Fn1", headers=ada),
            client.get("/patient?collection=notes&document=", headers=ada),
            send(client, "/patient", {"collection": "notes", "patient": "p2"}, headers=ada),
            send(client, "/patient", {"collection": "notes", "patient": "p9"}, headers=ada),
            send(client, "/patient", {"collection": "notes", "patient": ""}, headers=ada),
        )
    }
    ((status, text),) = answers
    assert status == 404
    assert "there is no such patient, or none that you may see" in text.lower()


def test_the_hidden_documents_of_a_patient_are_left_out(app, token):
    medley = app.extensions["medley"].medley
    medley.collections.store("notes").put(
        [note("p1/n3", "Secret visit", "ward-8", "p1", "Psychiatry", date(2020, 2, 2), Section("PLAN", "Gout."))]
    )

    fill_quietly(medley, "notes")
    client = app.test_client()
    mine = get(client, ADDRESS, headers=token("ada", "ward-7"))
    assert "2 documents, 5 January 2020 to 9 January 2020" in mine.text
    assert not {"Secret", "Psychiatry", "gout"} & set(mine.text.split())
    every = get(client, ADDRESS, headers=token("root", "*"))
    assert "3 documents, 5 January 2020 to 2 February 2020" in every.text
    assert "Secret visit" in every.text


def test_a_document_that_moved_to_somebody_else_is_not_shown_before_it_is_indexed(app):
    store = app.extensions["medley"].medley.collections.store("notes")
    store.put([note("p1/n2", "Moved", "ward-7", "p2", "Discharge", date(2020, 1, 9), Section("PLAN", "Gout."))])
    page = get(app.test_client(), ADDRESS)
    assert "1 document, 5 January 2020" in page.text
    assert "Moved" not in page.text


def test_a_publication_has_no_patient(client):
    get(client, "/patient?collection=abstracts&document=pm/1", status=404)
    assert not get(client, "/document?collection=abstracts&id=pm/1").links("/patient?")
    assert not get(client, "/?collection=abstracts").all("input", name="patient")


def test_no_address_and_no_title_names_the_patient(client):
    page = get(client, ADDRESS)
    named = [attrs["href"] for attrs in page.all("a") if "patient=" in attrs["href"] or "filter" in attrs["href"]]
    assert named == []
    assert page.words[page.words.index("Clinical notes, one patient · Medley")]


def test_the_documents_shown_are_in_the_access_log(client, logged):
    get(client, ADDRESS)
    last = logged()[-1]
    assert (last["action"], last["ids"], last["asked"], last["status"]) == (
        "patient",
        ["p1/n2", "p1/n1"],
        {"document": "p1/n1"},
        200,
    )
    client.get("/patient?collection=notes&document=p9%2Fn1")
    assert (logged()[-1]["status"], logged()[-1].get("ids", [])) == (404, [])


def test_each_assertion_has_its_first_and_last_date():
    page = page_of(
        written(3, "Pneumonia.", day=date(2022, 3, 1)),
        written(2, "No pneumonia.", day=date(2021, 3, 1)),
        written(1, "Pneumonia. No fever.", day=date(2020, 3, 1)),
        written(0, "Pneumonia again.", day=date(2019, 3, 1)),
    )
    assert said(page) == {
        "pneumonia": [("present", "1 March 2019", "1 March 2022", 3), ("ruled-out", "1 March 2021", "1 March 2021", 1)],
        "fever": [("ruled-out", "1 March 2020", "1 March 2020", 1)],
    }
    assert [group.title for group in page.groups] == ["Diagnoses", "Symptoms"]


def test_filters_narrow_the_documents_and_what_they_say():
    documents = (written(2, "No fever.", "Discharge"), written(1, "Pneumonia. No effusion."))
    page = page_of(*documents, type="Radiology")
    assert page.narrowed == "1 of 2 documents"
    assert set(said(page)) == {"pneumonia", "effusion"}
    assert set(said(page_of(*documents, type="Radiology", says="ruled-out"))) == {"effusion"}
    assert said(page_of(*documents, says="nonsense")) == said(page_of(*documents))
    ((title, choices),) = page.filters
    assert (title, [(item.label, item.count, item.chosen) for item in choices]) == (
        "Note type",
        [("Discharge", 1, False), ("Radiology", 1, True)],
    )
    assert choices[1].link == "/patient?collection=notes&document=p1%2F1"


def test_a_long_group_is_cut_and_can_be_shown_whole():
    names = [item.name for item in READER.lexicon if item.group == "diagnoses" and item.name.isalpha()][:200]
    text = " ".join(f"{name.capitalize()}." for name in names)
    page = page_of(written(1, text))
    (group,) = [item for item in page.groups if item.key == "diagnoses"]
    assert len(group.problems) == OF_A_GROUP
    (whole,) = [item for item in page_of(written(1, text), group="diagnoses").groups if item.key == "diagnoses"]
    assert (len(whole.problems), whole.more) == (OF_A_GROUP + group.more, 0)


@pytest.mark.parametrize(
    ("page", "shown", "newer", "older"),
    [("1", ON_A_PAGE, False, True), ("2", 20, True, False), ("99", 20, True, False), ("x", ON_A_PAGE, False, True)],
)
def test_a_long_timeline_has_pages(page, shown, newer, older):
    found = page_of(*(written(number, "Stable.") for number in range(ON_A_PAGE + 20)), page=page)
    assert [len(entries) for _, entries in found.years] == [shown]
    assert (bool(found.newer), bool(found.older)) == (newer, older)


def test_a_document_without_a_date_comes_last():
    undated = Document("p1/0", "Undated", (Section("", "Fever."),), frozenset({"ward-7"}), {"patient": "p1"})
    page = page_of(written(1, "Pneumonia."), undated)
    assert [(year, [item.title for item in entries]) for year, entries in page.years] == [
        ("2020", ["Note 1"]),
        ("Without a date", ["Undated"]),
    ]
    assert said(page)["fever"] == [("present", "", "", 1)]
