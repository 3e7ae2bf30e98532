"""The FHIR resource (R4) that says what a note says of a concept, by the concept's group and what is asserted of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from mappings.clinical.concepts import ClinicalConcept
from search.cohorts.results import CohortEvidence
from web.exports.cohort_export import CohortExport, mention_key

Resource = dict[str, Any]
_Maker = Callable[[ClinicalConcept, CohortEvidence, Resource, Resource], Resource]
"""From a concept, its mention, and references to the patient and to the note."""

CODE_SYSTEMS: Final = {
    "SNOMED CT": "http://snomed.info/sct",
    "ICD-10": "http://hl7.org/fhir/sid/icd-10",
    "RxNorm": "http://www.nlm.nih.gov/research/umls/rxnorm",
    "UMLS": "http://terminology.hl7.org/CodeSystem/umls",
}
OWN_CONCEPTS: Final = "urn:medley:concept"
_HL7: Final = "http://terminology.hl7.org/CodeSystem"
_VERIFICATION: Final = {
    "present": "confirmed",
    "historical": "confirmed",
    "ruled-out": "refuted",
    "uncertain": "unconfirmed",
}
_CLINICAL: Final = {"present": "active", "historical": "inactive"}
_MEDICATION: Final = {
    "present": "active",
    "historical": "completed",
    "ruled-out": "not-taken",
    "uncertain": "unknown",
}
_PROCEDURE: Final = {"present": "unknown", "historical": "completed", "ruled-out": "not-done", "uncertain": "unknown"}
_MEASURED: Final = {"laboratory": "laboratory", "vitals": "vital-signs"}


def resource_of(patient: str, item: CohortEvidence, export: CohortExport) -> Resource | None:
    """The resource of one mention.

    None for what is hypothetical ("return if you have a fever"), which says nothing about the patient, and for the drugs,
    tests and devices of relatives, which no resource of the patient can say.
    """
    concept = export.concept(item.concept)
    make: _Maker | None = _MAKERS.get(concept.group, _observation)
    if item.assertion == "family":
        make = _family_history if make is _condition else None
    if make is None or item.assertion == "hypothetical":
        return None
    collection = quote(export.definition.collection)
    return {
        "resourceType": "",
        "id": str(uuid5(NAMESPACE_URL, repr((collection, *mention_key(item))))),
        "meta": {"source": f"urn:medley:document:{collection}:{quote(item.document, safe='/:@')}"},
        **make(concept, item, _subject(patient, collection), _note(item, collection)),
        "note": [{"text": " ".join(item.text.split())}],
    }


def _subject(patient: str, collection: str) -> Resource:
    return {"type": "Patient", "identifier": {"system": f"urn:medley:patient:{collection}", "value": patient}}


def _note(item: CohortEvidence, collection: str) -> Resource:
    found: Resource = {
        "type": "DocumentReference",
        "identifier": {"system": f"urn:medley:document:{collection}", "value": item.document},
    }
    return found | ({"display": item.title} if item.title.strip() else {})


def _coded(concept: ClinicalConcept) -> Resource:
    """The codes of the user's lexicon, and our own."""
    known = [
        {"system": CODE_SYSTEMS[system], "code": code}
        for system, codes in concept.codes.items()
        if system in CODE_SYSTEMS
        for code in codes
    ]
    own = {"system": OWN_CONCEPTS, "code": concept.id, "display": concept.name}
    return {"coding": [*known, own], "text": concept.name}


def _one(system: str, code: str) -> Resource:
    return {"coding": [{"system": f"{_HL7}/{system}", "code": code}]}


def _dated(name: str, item: CohortEvidence) -> Resource:
    return {name: item.date.isoformat()} if item.date else {}


def _condition(concept: ClinicalConcept, item: CohortEvidence, subject: Resource, note: Resource) -> Resource:
    clinical = _CLINICAL.get(item.assertion)
    return {
        "resourceType": "Condition",
        **({"clinicalStatus": _one("condition-clinical", clinical)} if clinical else {}),
        "verificationStatus": _one("condition-ver-status", _VERIFICATION[item.assertion]),
        "code": _coded(concept),
        "subject": subject,
        **_dated("recordedDate", item),
        "evidence": [{"detail": [note]}],
    }


def _family_history(concept: ClinicalConcept, item: CohortEvidence, subject: Resource, _: Resource) -> Resource:
    """It has no element for the note that it was read in; `meta.source` names it."""
    relative = {"system": f"{_HL7}/v3-RoleCode", "code": "FAMMEMB", "display": "family member"}
    return {
        "resourceType": "FamilyMemberHistory",
        "status": "partial",
        "patient": subject,
        **_dated("date", item),
        "relationship": {"coding": [relative]},
        "condition": [{"code": _coded(concept)}],
    }


def _medication(concept: ClinicalConcept, item: CohortEvidence, subject: Resource, note: Resource) -> Resource:
    return {
        "resourceType": "MedicationStatement",
        "status": _MEDICATION[item.assertion],
        "medicationCodeableConcept": _coded(concept),
        "subject": subject,
        **_dated("dateAsserted", item),
        "derivedFrom": [note],
    }


def _procedure(concept: ClinicalConcept, item: CohortEvidence, subject: Resource, note: Resource) -> Resource:
    return {
        "resourceType": "Procedure",
        "status": _PROCEDURE[item.assertion],
        "code": _coded(concept),
        "subject": subject,
        "report": [note],
    }


def _observation(concept: ClinicalConcept, item: CohortEvidence, subject: Resource, note: Resource) -> Resource:
    category = _MEASURED.get(concept.group)
    return {
        "resourceType": "Observation",
        "status": "preliminary" if item.assertion == "uncertain" else "final",
        **({"category": [_one("observation-category", category)]} if category else {}),
        "code": _coded(concept),
        "subject": subject,
        **_dated("effectiveDateTime", item),
        **_observed(concept, item.assertion),
        "derivedFrom": [note],
    }


def _observed(concept: ClinicalConcept, assertion: str) -> Resource:
    """Whether it was observed; the values of tests and vital signs are in the sentence only."""
    if assertion == "ruled-out":
        return {"valueBoolean": False}
    if assertion == "uncertain" or concept.group in _MEASURED:
        return {
            "dataAbsentReason": _one("data-absent-reason", "unsupported" if concept.group in _MEASURED else "unknown")
        }
    return {"valueBoolean": True}


_MAKERS: Final[Mapping[str, _Maker]] = {
    **dict.fromkeys(("findings", "symptoms", "diagnoses"), _condition),
    **dict.fromkeys(("drugs", "drug-classes"), _medication),
    "procedures": _procedure,
}
