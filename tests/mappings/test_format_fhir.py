from __future__ import annotations

import base64
import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.formats.registry import read

KIND = load("notes")
CLINICAL = frozenset({"clinical"})
UPDATED = 1_614_507_296_250_000  # 2021-02-28T10:14:56.250Z


def coded(text: str) -> dict[str, Any]:
    return {"coding": [{"system": "http://loinc.org", "code": "0-0", "display": text}]}


def attachment(
    text: str | bytes = "HPI: Cough.\r\nPLAN: Rest.", kind: str = "text/plain", **more: Any
) -> dict[str, Any]:
    data = base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
    return {"contentType": kind, "data": data, **more}


def reference(*attachments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "DocumentReference",
        "id": "d1",
        "meta": {"versionId": "3", "lastUpdated": "2021-02-28T11:14:56.250+01:00"},
        "status": "current",
        "docStatus": "final",
        "type": coded("Discharge summary"),
        "subject": {"reference": "Patient/p1"},
        "date": "2021-02-27T09:00:00Z",
        "description": "Stay of February",
        "content": [{"attachment": item} for item in attachments or (attachment(),)],
        "context": {"encounter": [{"reference": "Encounter/e1"}], "practiceSetting": {"text": "Pulmonology"}},
        **more,
    }


REPORT: dict[str, Any] = {
    "resourceType": "DiagnosticReport",
    "id": "r1",
    "status": "final",
    "code": {"text": "Chest X-ray"},
    "subject": {"identifier": {"value": "MRN-9"}},
    "encounter": {"reference": "https://fhir.example.org/r4/Encounter/e2/_history/1"},
    "effectiveDateTime": "2020-05",
    "conclusion": "No effusion.",
}


def written(folder: Path, *records: Any, name: str = "feed.ndjson") -> Path:
    path = folder / name
    path.write_bytes(b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records))
    return path


def taken(folder: Path, record: Any) -> Document | Deletion | Rejection:
    (found,) = read(written(folder, record), "fhir", KIND)
    return found


def document(folder: Path, record: Any) -> Document:
    found = taken(folder, record)
    assert isinstance(found, Document), found
    return found


def test_a_whole_document_reference(tmp_path: Path) -> None:
    assert taken(tmp_path, reference()) == Document(
        id="DocumentReference/d1",
        title="Stay of February",
        sections=(Section("HPI", "Cough."), Section("PLAN", "Rest.")),
        labels=CLINICAL,
        fields={
            "patient": "p1",
            "encounter": "e1",
            "type": "Discharge summary",
            "specialty": "Pulmonology",
            "date": date(2021, 2, 27),
        },
        source_version=UPDATED,
    )


def test_a_whole_report_of_its_own_words(tmp_path: Path) -> None:
    fields = {"patient": "MRN-9", "encounter": "e2", "type": "Chest X-ray", "date": date(2020, 5, 1)}
    assert taken(tmp_path, REPORT) == Document(
        "DiagnosticReport/r1", "Chest X-ray", (Section("", "No effusion."),), CLINICAL, fields
    )


def test_a_narrative_and_its_conclusion(tmp_path: Path) -> None:
    div = '<div xmlns="http://www.w3.org/1999/xhtml"><p>Clear&nbsp;lungs.</p><script>x()</script></div>'
    told = document(tmp_path, REPORT | {"text": {"status": "generated", "div": div}})
    assert told.sections == (Section("", "Clear lungs."), Section("Conclusion", "No effusion."))
    whole = document(
        tmp_path, REPORT | {"text": {"status": "additional", "div": div.replace("Clear", "No effusion. Clear")}}
    )
    assert whole.sections == (Section("", "No effusion. Clear lungs."),)
    assert document(tmp_path, REPORT | {"text": {"status": "empty", "div": div}}).sections == (
        Section("", "No effusion."),
    )


def test_attachments_come_before_the_narrative(tmp_path: Path) -> None:
    forms = [attachment("Heart normal.", title="Finding"), attachment("Come back.", title="Advice")]
    found = document(tmp_path, REPORT | {"presentedForm": forms})
    assert found.sections == (Section("Finding", "Heart normal."), Section("Advice", "Come back."))


def test_several_forms_of_one_text_are_one_and_a_pdf_beside_it_is_passed_over(tmp_path: Path) -> None:
    html = "<html><head><title>x</title></head><body><p>HPI: Cough.<br/>PLAN: Rest.</p></body></html>"
    forms = (
        attachment(b"%PDF", "application/pdf"),
        attachment(html, "text/html"),
        attachment("HPI: Cough.\nPLAN: Rest."),
    )
    assert document(tmp_path, reference(*forms)).sections == (Section("HPI", "Cough."), Section("PLAN", "Rest."))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (attachment("Fièvre".encode("latin-1"), "text/plain; charset=ISO-8859-1"), "Fièvre"),
        (attachment("Fièvre".encode("utf-16"), 'Text/Plain;charset="UTF-16"'), "Fièvre"),
        (attachment(b"\xef\xbb\xbfFever"), "Fever"),
        (attachment("<div><style>p{}</style><p>A &lt;5<br>B</p><!-- no --></div>", "application/xhtml+xml"), "A <5\nB"),
        (attachment("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><p>A</p>", "text/html"), "]>\nA"),
        (attachment("A") | {"data": " Q Q\n== "}, "A"),
    ],
)
def test_texts_by_type_and_charset(tmp_path: Path, form: dict[str, Any], text: str) -> None:
    assert document(tmp_path, reference(form)).sections == (Section("", text),)


@pytest.mark.parametrize("change", [{"status": "entered-in-error"}, {"docStatus": "entered-in-error", "content": "x"}])
def test_what_was_entered_in_error_is_deleted(tmp_path: Path, change: dict[str, Any]) -> None:
    assert taken(tmp_path, reference() | change) == Deletion("DocumentReference/d1", UPDATED)


@pytest.mark.parametrize(
    ("meta", "version"),
    [
        ({"versionId": "12"}, 12),
        ({"versionId": "a1"}, None),
        ({}, None),
        ({"lastUpdated": "1970-01-01T00:00:01Z"}, 1_000_000),
    ],
)
def test_source_versions(tmp_path: Path, meta: dict[str, str], version: int | None) -> None:
    assert document(tmp_path, reference(meta=meta)).source_version == version


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        (["N"], CLINICAL),
        (["R"], {"restricted"}),
        (["R", "V"], {"very-restricted"}),
        (["HIV"], CLINICAL),
    ],
)
def test_a_restricted_record_is_not_seen_with_the_rest(tmp_path: Path, codes: list[str], labels: set[str]) -> None:
    system = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
    tags = [{"system": system, "code": code} for code in codes]
    assert document(tmp_path, reference(meta={"security": tags})).labels == labels
    assert document(tmp_path, reference(securityLabel=[{"coding": tags}])).labels == labels


@pytest.mark.parametrize(
    ("record", "field", "words"),
    [
        ({"resourceType": "Patient", "id": "p1"}, "resourceType", "'Patient' is not accepted; DocumentReference and"),
        ({"id": "p1"}, "resourceType", "missing"),
        (reference() | {"id": None}, "id", "missing"),
        (reference() | {"id": "x" * 10_000}, "id", "512"),
        (reference() | {"id": "a\nb"}, "id", "printable"),
        (reference(date="2021-02-30"), "date", "not a valid date"),
        (REPORT | {"effectiveDateTime": "soon"}, "effectiveDateTime", "such as"),
        (reference(meta={"lastUpdated": "2021-02-28T10:00:00"}), "meta.lastUpdated", "time zone"),
        (reference(meta={"lastUpdated": "9021-02-28T10:00:00Z"}), "meta.lastUpdated", "future"),
        (reference(subject="p1"), "subject", "an object"),
        (reference(content=[{}]), "content[0].attachment", "an object"),
        (reference(attachment() | {"data": "QQ=x"}), "content[0].attachment.data", "base64"),
        (reference(attachment(), attachment() | {"data": "Q"}), "content[1].attachment.data", "base64"),
        (reference(attachment() | {"data": 5}), "content[0].attachment.data", "base64"),
        (
            reference(attachment(b"%PDF", "application/pdf")),
            "content[0].attachment.contentType",
            "'application/pdf' is not supported",
        ),
        (
            REPORT | {"presentedForm": [attachment(b"%PDF", "application/pdf")]},
            "presentedForm[0].contentType",
            "not supported",
        ),
        (reference({"data": "QQ=="}), "content[0].attachment.contentType", "missing"),
        (reference({"contentType": "text/plain", "url": "Binary/1"}), "content[0].attachment.data", "has only a url"),
        (reference({"contentType": "text/plain"}), "content[0].attachment.data", "missing"),
        (reference(attachment(" \n")), "content[0].attachment.data", "no text"),
        (reference(attachment(b"%PDF-\xe2\xe3")), "content[0].attachment.data", "not text in UTF-8"),
        (reference(attachment("A", "text/plain; charset=hex")), "content[0].attachment.data", "not text in hex"),
        (reference(attachment("A", "text/plain; charset=utf-99")), "content[0].attachment.data", "not text in utf-99"),
        (reference(attachment(b"PK\x00\x01")), "content[0].attachment.data", "character 0"),
        (reference(attachment("<i>" * 3000, "text/html")), "content[0].attachment.data", "too deeply"),
        (REPORT | {"conclusion": None, "code": None}, "text", "no text"),
    ],
)
def test_a_bad_resource_names_its_field(tmp_path: Path, record: dict[str, Any], field: str, words: str) -> None:
    found = taken(tmp_path, record)
    assert isinstance(found, Rejection)
    assert (found.position, found.field) == ("line 1", field)
    assert words in found.reason


def test_a_truncated_line_costs_itself_only(tmp_path: Path) -> None:
    line = json.dumps(reference(id="d3")).encode()
    found = list(read(written(tmp_path, reference(), line[:200] + b"\n", REPORT, line[:300]), "fhir", KIND))
    assert [(item.position if isinstance(item, Rejection) else item.id) for item in found] == [
        "DocumentReference/d1",
        "line 2",
        "DiagnosticReport/r1",
        "line 4",
    ]


def test_versions_of_one_resource_all_come_and_without_versions_the_first(tmp_path: Path) -> None:
    later = reference(meta={"lastUpdated": "2021-03-01T00:00:00Z"})
    records = [later, reference(), reference(status="entered-in-error"), REPORT, REPORT]
    found = list(read(written(tmp_path, *records), "fhir", KIND))
    assert [type(item).__name__ for item in found] == ["Document", "Document", "Deletion", "Document", "Rejection"]


def test_bundles_on_a_line_over_many_lines_and_with_deletions(tmp_path: Path) -> None:
    removed = {
        "request": {"method": "DELETE", "url": "https://x.org/fhir/DocumentReference/d9"},
        "response": {"lastModified": "1970-01-01T00:00:01Z"},
    }
    entries = [
        {"resource": reference()},
        {"resource": {"resourceType": "Patient"}},
        removed,
        {"request": {"method": "DELETE", "url": "x"}},
    ]
    bundle = {"resourceType": "Bundle", "type": "transaction", "entry": entries}
    expected = [
        "DocumentReference/d1",
        ("{}, entry 2", "resourceType"),
        Deletion("DocumentReference/d9", 1_000_000),
        ("{}, entry 4", "request.url"),
    ]

    def outcome(path: Path, place: str) -> list[Any]:
        items = read(path, "fhir", KIND)
        found = [(i.position.replace(place, "{}"), i.field) if isinstance(i, Rejection) else i for i in items]
        return [item.id if isinstance(item, Document) else item for item in found]

    assert outcome(written(tmp_path, REPORT, bundle), "line 2") == ["DiagnosticReport/r1", *expected]
    path = written(tmp_path, json.dumps(bundle, indent=2).encode(), name="bundle.json")
    assert outcome(path, "line 1") == expected
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert outcome(path, "line 1") == expected


def test_a_history_is_carried_out_from_its_oldest_entry(tmp_path: Path) -> None:
    removed = {"request": {"method": "DELETE", "url": "DocumentReference/d1/_history/2"}}
    bundle = {"resourceType": "Bundle", "type": "history", "entry": [removed, {"resource": reference()}]}
    found = list(read(written(tmp_path, bundle), "fhir", KIND))
    assert [type(item).__name__ for item in found] == ["Document", "Deletion"]
    assert found[1] == Deletion("DocumentReference/d1")


def test_a_bundle_without_a_list_is_a_rejection(tmp_path: Path) -> None:
    found = taken(tmp_path, {"resourceType": "Bundle", "entry": 1})
    assert isinstance(found, Rejection)
    assert found.field == "entry"


def test_a_file_of_something_else_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected JSON Lines"):
        list(read(written(tmp_path, b"{broken\n", b"more\n"), "fhir", KIND))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["QQ==", "text/plain", "R", "2021"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["attachment", "data", "contentType", "coding", "code", "text", "reference", "encounter", "div", "lastUpdated",
         "security", "start", "identifier", "value", "resource", "request", "url", "method", "period"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["status", "content", "presentedForm", "meta", "text", "context", "subject", "date", "type",
                         "code", "conclusion", "encounter", "securityLabel", "effectivePeriod", "entry", "description"]),
        JSON,
    ),
    st.sampled_from(["DocumentReference", "DiagnosticReport", "Bundle"]),
)  # fmt: skip
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_resource_is_taken_or_rejected(tmp_path: Path, values: dict[str, Any], kind: str) -> None:
    for found in read(written(tmp_path, {"resourceType": kind, "id": "a", **values}), "fhir", KIND):
        assert isinstance(found, Document | Deletion | Rejection)
