"""A cohort as a FHIR bundle (R4): a resource for each mention of a concept in its patients' notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from search.cohorts.results import CohortPatient
from web.exports.cohort_export import CohortExport, mentions_of
from web.exports.fhir_resources import resource_of

TEST_DATA: Final = {"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}
"""The tag of resources that are about nobody: those of invented documents."""


def as_fhir_bundle(patients: Iterable[CohortPatient], export: CohortExport) -> Iterator[str]:
    """One JSON object, a `Bundle` of the type `collection`, in pieces."""
    head: dict[str, Any] = {"resourceType": "Bundle", "type": "collection"}
    if export.invented:
        head["meta"] = {"tag": [TEST_DATA]}
    yield json.dumps(head)[:-1]
    opened = False
    for patient in patients:
        for resource in _resources(patient, export):
            entry = {"fullUrl": f"urn:uuid:{resource['id']}", "resource": resource}
            yield (",\n" if opened else ', "entry": [\n') + json.dumps(entry, ensure_ascii=False)
            opened = True
    yield "\n]}\n" if opened else "}\n"  # FHIR has no empty lists


def _resources(patient: CohortPatient, export: CohortExport) -> Iterator[Mapping[str, Any]]:
    for item in mentions_of(patient):
        resource = resource_of(patient.patient, item, export)
        if resource and export.invented:
            resource["meta"]["tag"] = [TEST_DATA]
        if resource:
            yield resource
