"""The FHIR bundle of a cohort: what R4 requires of each resource, and what each assertion becomes."""

import json
import re

import pytest
from made_cohort import export, lexicon_of, patient, said

from mappings.clinical.cue_rules import ASSERTIONS
from web.exports.fhir_bundle import as_fhir_bundle

HL7 = "http://terminology.hl7.org/CodeSystem"
VERIFICATION = {"unconfirmed", "provisional", "differential", "confirmed", "refuted", "entered-in-error"}
CLINICAL = {"active", "recurrence", "relapse", "inactive", "remission", "resolved"}
STATUSES = {
    "FamilyMemberHistory": {"partial", "completed", "entered-in-error", "health-unknown"},
    "MedicationStatement": {
        *("active", "completed", "entered-in-error", "intended", "stopped", "on-hold", "unknown", "not-taken"),
    },
    "Procedure": {
        *("preparation", "in-progress", "not-done", "on-hold", "stopped", "completed", "entered-in-error", "unknown"),
    },
    "Observation": {
        *("registered", "preliminary", "final", "amended", "corrected", "cancelled", "entered-in-error", "unknown"),
    },
}
REQUIRED = {
    "Condition": {"subject"},
    "FamilyMemberHistory": {"status", "patient", "relationship"},
    "MedicationStatement": {"status", "medicationCodeableConcept", "subject"},
    "Procedure": {"status", "subject"},
    "Observation": {"status", "code"},
}
ALLOWED = {
    "Condition": {"clinicalStatus", "verificationStatus", "code", "recordedDate", "evidence"},
    "FamilyMemberHistory": {"date", "condition"},
    "MedicationStatement": {"dateAsserted", "derivedFrom"},
    "Procedure": {"code", "report"},
    "Observation": {
        *("category", "subject", "effectiveDateTime", "valueBoolean", "dataAbsentReason", "derivedFrom"),
    },
}


def bundle_of(patients, wanted):
    bundle = json.loads("".join(as_fhir_bundle(iter(patients), wanted)))
    assert (bundle["resourceType"], bundle["type"]) == ("Bundle", "collection")
    assert "entry" not in bundle or bundle["entry"]
    entries = bundle.get("entry", [])
    assert len({entry["fullUrl"] for entry in entries}) == len(entries)
    for entry in entries:
        assert set(entry) == {"fullUrl", "resource"}
        assert entry["fullUrl"] == f"urn:uuid:{entry['resource']['id']}"
        check(entry["resource"])
    return bundle


def check(resource):
    kind = resource["resourceType"]
    names = set(resource) - {"resourceType", "id", "meta", "note"}
    assert REQUIRED[kind] <= names <= REQUIRED[kind] | ALLOWED[kind]
    assert re.fullmatch(r"[A-Za-z0-9\-.]{1,64}", resource["id"])
    assert re.fullmatch(r"urn:\S+", resource["meta"]["source"])
    assert resource["note"][0]["text"].strip()
    assert empty(resource) == []
    if kind == "Condition":
        assert code_of(resource["verificationStatus"], "condition-ver-status") in VERIFICATION
        if "clinicalStatus" in resource:
            assert code_of(resource["clinicalStatus"], "condition-clinical") in CLINICAL
    else:
        assert resource["status"] in STATUSES[kind]
    if kind == "Observation":
        assert ("dataAbsentReason" in resource) != ("valueBoolean" in resource)


def empty(value):
    """FHIR allows no empty text, list or object."""
    if isinstance(value, dict | list):
        children = value.values() if isinstance(value, dict) else value
        return [value] * (not value) + [item for child in children for item in empty(child)]
    return [value] if value in ("", None) else []


def code_of(concept, system):
    (coding,) = concept["coding"]
    assert coding["system"] == f"{HL7}/{system}"
    return coding["code"]


def only(item, wanted=None):
    entries = bundle_of([patient("p1", ("met", item))], wanted or export()).get("entry", [])
    assert len(entries) <= 1
    return entries[0]["resource"] if entries else None


def test_a_condition_whole(tmp_path):
    codes = ("C1", "233604007", "J18.9|J15", "11", "255848")
    lexicon = lexicon_of(tmp_path, ("pneumonia", "pneumonia", "", "", "", *codes))
    found = only(
        said("No pneumonia\nseen.", "pneumonia", "pneumonia", "ruled-out", document="p1/n 1"), export(lexicon=lexicon)
    )
    assert found == {
        "resourceType": "Condition",
        "id": found["id"],
        "meta": {"source": "urn:medley:document:notes:p1/n%201"},
        "verificationStatus": {"coding": [{"system": f"{HL7}/condition-ver-status", "code": "refuted"}]},
        "code": {
            "coding": [
                {"system": f"{HL7}/umls", "code": "C1"},
                {"system": "http://snomed.info/sct", "code": "233604007"},
                {"system": "http://hl7.org/fhir/sid/icd-10", "code": "J18.9"},
                {"system": "http://hl7.org/fhir/sid/icd-10", "code": "J15"},
                {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "11"},
                {"system": "urn:medley:concept", "code": "pneumonia", "display": "pneumonia"},
            ],
            "text": "pneumonia",
        },
        "subject": {"type": "Patient", "identifier": {"system": "urn:medley:patient:notes", "value": "p1"}},
        "recordedDate": "2024-05-06",
        "evidence": [
            {
                "detail": [
                    {
                        "type": "DocumentReference",
                        "identifier": {"system": "urn:medley:document:notes", "value": "p1/n 1"},
                        "display": "Chest radiograph",
                    }
                ]
            }
        ],
        "note": [{"text": "No pneumonia seen."}],
    }


@pytest.mark.parametrize(
    ("assertion", "verified", "clinical"),
    [
        ("present", "confirmed", "active"),
        ("historical", "confirmed", "inactive"),
        ("ruled-out", "refuted", None),
        ("uncertain", "unconfirmed", None),
    ],
)
def test_a_condition_is_as_certain_as_the_note(assertion, verified, clinical):
    for concept in ("pneumonia", "fever", "cardiomegaly"):
        found = only(said("Something.", "Something", concept, assertion))
        assert found["resourceType"] == "Condition"
        assert code_of(found["verificationStatus"], "condition-ver-status") == verified
        assert found.get("clinicalStatus", {}).get("coding", [{}])[0].get("code") == clinical


@pytest.mark.parametrize("concept", ["pneumonia", "aspirin", "troponin", "heart-rate", "pacemaker", "colonoscopy"])
def test_what_is_only_hypothetical_is_no_resource(concept):
    assert only(said("Return if so.", "so", concept, "hypothetical")) is None


def test_a_relatives_disease_is_never_the_patients():
    found = only(said("Mother had pneumonia.", "pneumonia", "pneumonia", "family"))
    assert found["resourceType"] == "FamilyMemberHistory"
    assert found["condition"][0]["code"]["text"] == "pneumonia"
    assert found["patient"]["identifier"]["value"] == "p1"
    assert found["relationship"]["coding"][0]["code"] == "FAMMEMB"
    for concept in ("aspirin", "troponin", "pacemaker", "colonoscopy"):
        assert only(said("Mother had it.", "it", concept, "family")) is None


@pytest.mark.parametrize(
    ("concept", "kind", "values"),
    [
        ("aspirin", "MedicationStatement", ("active", "completed", "not-taken", "unknown")),
        ("colonoscopy", "Procedure", ("unknown", "completed", "not-done", "unknown")),
    ],
)
def test_drugs_and_procedures_have_a_status(concept, kind, values):
    for assertion, status in zip(("present", "historical", "ruled-out", "uncertain"), values, strict=True):
        found = only(said("Something.", "Something", concept, assertion, date=None, title=""))
        assert (found["resourceType"], found["status"]) == (kind, status)


def test_an_observation_has_no_value_that_nobody_read():
    for concept, category in (("troponin", "laboratory"), ("heart-rate", "vital-signs")):
        found = only(said("Something.", "Something", concept))
        assert code_of(found["category"][0], "observation-category") == category
        assert code_of(found["dataAbsentReason"], "data-absent-reason") == "unsupported"
    assert only(said("Something.", "Something", "pacemaker"))["valueBoolean"] is True
    assert only(said("Something.", "Something", "pacemaker", "ruled-out"))["valueBoolean"] is False
    assert only(said("Something.", "Something", "pacemaker", "uncertain"))["status"] == "preliminary"


def test_every_group_and_assertion_is_valid():
    concepts = (
        "pneumonia",
        "fever",
        "cardiomegaly",
        "aspirin",
        "nsaid",
        "colonoscopy",
        "pacemaker",
        "troponin",
        "heart-rate",
        "gone",
    )
    patients = [
        patient(name, *(("met", said(f"{name}.", name, name, item, date=None, title="")) for item in ASSERTIONS))
        for name in concepts
    ]
    assert len(bundle_of(patients, export())["entry"]) == 10 * 4 + 3


def test_a_mention_is_one_resource_with_a_lasting_id():
    found = said("Pneumonia.", "Pneumonia", "pneumonia")
    bundle = bundle_of([patient("p1", ("met", found), ("met", found))], export())
    (entry,) = bundle["entry"]
    assert bundle_of([patient("p1", ("met", found))], export())["entry"] == [entry]
    other = only(said("Pneumonia.", "Pneumonia", "pneumonia", document="n2"))
    assert other["id"] != entry["resource"]["id"]


def test_nobody_is_a_bundle_without_entries_and_invented_patients_are_tagged():
    assert bundle_of([], export()) == {"resourceType": "Bundle", "type": "collection"}
    bundle = bundle_of([patient("p1", ("met", said("Pneumonia.", "Pneumonia", "pneumonia")))], export(invented=True))
    tag = [{"system": f"{HL7}/v3-ActReason", "code": "HTEST"}]
    assert bundle["meta"]["tag"] == bundle["entry"][0]["resource"]["meta"]["tag"] == tag
