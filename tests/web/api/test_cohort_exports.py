"""`/v1/cohorts/export`: whole files, their access record, and whose documents they have."""

import csv
import io
import json
from dataclasses import replace

import pytest
from cohort_notes import fill_cohort_notes, written
from portal_home import settings_of

from search.bootstrap import Medley
from web import create_app
from web.citations.citation import INVENTED
from web.cohorts.use_cases import EXPORT_PAGE

ASKED = {"collection": "cohorts", "any": ["pneumonia", {"concept": "gout", "assertion": "family"}]}


@pytest.fixture
def client(app):
    fill_cohort_notes(app.extensions["medley"].medley)
    return app.test_client()


def export(client, form, headers=None, **asked):
    return client.post("/v1/cohorts/export", json={**ASKED, "format": form, **asked}, headers=headers)


def rows(answer):
    return list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))


def test_the_evidence_as_csv(client):
    answer = export(client, "csv")
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="cohorts-cohort.csv"'
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    assert [list(row.values()) for row in rows(answer)] == [
        ["a", "2022-01-01", "Radiology", "pneumonia", "met", "present", "a/1", "Pneumonia of the left lung.", ""],
        ["a", "2022-02-02", "Discharge", "family: gout", "met", "family", "a/2", "Mother with gout.", ""],
        ["c", "2022-02-02", "Radiology", "pneumonia", "met", "present", "c/1", "Pneumonia.", ""],
        ["c", "", "", "family: gout", "not-mentioned", "", "", "", ""],
        ["d", "2022-02-02", "Radiology", "pneumonia", "met", "present", "d/1", "'=HYPERLINK(1) pneumonia is seen.", ""],
        ["d", "", "", "family: gout", "not-mentioned", "", "", "", ""],
    ]


def test_rows_for_omop(client):
    answer = export(client, "omop", any=[{"concept": "pneumonia", "assertion": "ruled-out"}])
    assert answer.headers["Content-Disposition"] == 'attachment; filename="cohorts-note_nlp.csv"'
    (row,) = rows(answer)
    assert (row["lexical_variant"], row["term_exists"], row["snippet"]) == ("pneumonia", "N", "No pneumonia.")
    assert row["nlp_system"].startswith("Medley ")
    assert "negation=true" in row["term_modifiers"]


def test_a_bundle_for_fhir(client):
    answer = export(client, "fhir", any=["pneumonia", "fever", "gout"])
    assert answer.content_type == "application/fhir+json"
    resources = [entry["resource"] for entry in json.loads(answer.data)["entry"]]
    seen = {
        (
            item.get("subject", item.get("patient"))["identifier"]["value"],
            item["resourceType"],
            item.get("verificationStatus", {}).get("coding", [{}])[0].get("code"),
            item["note"][0]["text"],
        )
        for item in resources
    }
    assert seen == {
        ("a", "Condition", "confirmed", "Pneumonia of the left lung."),
        ("a", "Condition", "refuted", "No fever."),
        ("a", "FamilyMemberHistory", None, "Mother with gout."),
        ("c", "Condition", "confirmed", "Pneumonia."),
        ("c", "Condition", "confirmed", "Fever since yesterday."),
        ("d", "Condition", "confirmed", "=HYPERLINK(1) pneumonia is seen."),
    }


@pytest.mark.parametrize("form", ["csv", "omop", "fhir"])
def test_an_export_has_only_what_the_caller_may_see(client, token, form, logged):
    answer = export(client, form, token("ada", "ward-7"))
    assert answer.status_code == 200
    text = answer.get_data(as_text=True)
    assert "left lung" in text
    assert "Mother" not in text
    assert "c/1" not in text
    (record,) = logged()
    assert (record["user"], record["ids"], record["asked"]["patients"]) == ("ada", ["a/1", "d/1"], 2)


def test_one_record_says_what_was_exported(client, logged):
    export(client, "fhir")
    (record,) = logged()
    assert (record["action"], record["collection"], record["status"]) == ("export-cohort", "cohorts", 200)
    assert record["asked"] == {
        "format": "fhir",
        "definition": {
            "collection": "cohorts",
            "any": [{"concept": "pneumonia", "assertion": "present"}, {"concept": "gout", "assertion": "family"}],
        },
        "patients": 3,
        "documents": 4,
    }
    assert record["ids"] == ["a/1", "a/2", "c/1", "d/1"]


def test_the_record_is_there_before_the_first_byte(client, logged):
    answer = client.post("/v1/cohorts/export", json={**ASKED, "format": "csv"}, buffered=False)
    assert [record["action"] for record in logged()] == ["export-cohort"]
    assert b"patient" in next(iter(answer.response))


def test_an_unknown_format_is_an_error(client, logged):
    for form in ("xml", "", None, 3):
        answer = export(client, form)
        assert (answer.status_code, answer.json["error"]["field"]) == (400, "format")
    assert client.post("/v1/cohorts/export", json=ASKED).json["error"]["message"] == "format is missing"
    assert logged() == []


def test_many_patients_are_exported_page_by_page(home, logged):
    medley = Medley.open(settings_of(home))
    count = 2 * EXPORT_PAGE + 1
    documents = [written(f"n{number}", "ward-7", f"p{number:03}", "Pneumonia.") for number in range(count)]
    fill_cohort_notes(medley, documents=documents)
    table = rows(export(create_app(medley).test_client(), "csv", any=["pneumonia"]))
    assert [row["patient"] for row in table] == [f"p{number:03}" for number in range(count)]
    assert logged()[0]["asked"]["patients"] == count


def test_a_cohort_that_is_too_large_is_not_exported_and_that_is_logged(home, logged):
    medley = Medley.open(replace(settings_of(home), cohort_patients=2))
    fill_cohort_notes(medley)
    answer = export(create_app(medley).test_client(), "csv")
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "all")
    (record,) = logged()
    assert (record["status"], record["ids"], record["asked"]["format"]) == (400, [], "csv")


def test_invented_documents_say_so_in_every_format(app):
    medley = app.extensions["medley"].medley
    medley.collections.create("demo-notes", "notes", invented=True)
    fill_cohort_notes(medley, "demo-notes")
    client = app.test_client()
    assert {row["note"] for row in rows(export(client, "csv", collection="demo-notes"))} == {INVENTED}
    assert "invented=true" in export(client, "omop", collection="demo-notes").get_data(as_text=True)
    bundle = json.loads(export(client, "fhir", collection="demo-notes").data)
    assert bundle["meta"]["tag"][0]["code"] == "HTEST"
    assert client.post("/v1/cohorts", json={**ASKED, "collection": "demo-notes"}).json["invented"] is True
