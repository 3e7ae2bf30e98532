"""The documents of one patient that a caller may see.

The address of a patient's page names one of the patient's documents, never the patient: ids of patients stay out of addresses,
histories and logs of servers, and whoever may not see that document learns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from urllib.parse import urlencode

from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import NotFound
from search.protocols import LegsRequest
from search.query import LexicalQuery, Terms
from web.use_cases import UseCases

MAX_DOCUMENTS: Final = 1_000
"""How many documents of a patient are shown."""

_LOGGED_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class PatientRecord:
    """The documents of `patient` that the caller may see, the newest first and those without a date last.

    `complete`: there are no more than these.
    """

    collection: Collection
    patient: str
    documents: tuple[Document, ...]
    complete: bool


def has_patients(collection: Collection) -> bool:
    """Whether the documents of a collection belong to patients: its hits are grouped by a keyword field."""
    field = collection.fields.get(collection.group_by)
    return field is not None and field.type == "keyword"


def address_of(collection: Collection, document: str) -> str:
    """The address of the page of the patient to whom a document belongs."""
    return "/patient?" + urlencode([("collection", collection.name), ("document", document)])


def by_document(use_cases: UseCases, collection: Collection, document: str) -> PatientRecord:
    """The record of the patient of one document. Raises `NotFound` alike for an unknown and a hidden one; it is logged."""
    found = use_cases.visible(collection.name, [document]).get(document)
    patient = _patient_of(found, collection) if found and has_patients(collection) else ""
    return _read(use_cases, collection, patient, {"document": document[:_LOGGED_CHARACTERS]})


def by_id(use_cases: UseCases, collection: Collection, patient: str) -> PatientRecord:
    """The record of the patient with that id. Raises `NotFound` alike for an unknown and a hidden one; it is logged."""
    wanted = patient.strip() if has_patients(collection) else ""
    return _read(use_cases, collection, wanted, {"patient": patient[:_LOGGED_CHARACTERS]})


def date_of(document: Document, collection: Collection) -> date | None:
    """The date of a document: its first field that is one."""
    for field in collection.fields.values():
        value = document.fields.get(field.name)
        if field.type == "date" and isinstance(value, date):
            return value
    return None


def _read(use_cases: UseCases, collection: Collection, patient: str, asked: Mapping[str, Any]) -> PatientRecord:
    record = _visible_record(use_cases, collection, patient) if patient else None
    if record is None or not record.documents:
        use_cases.audit("patient", collection.name, asked, status=404)
        raise NotFound("there is no such patient, or none that you may see", field="patient")
    use_cases.audit("patient", collection.name, asked, [item.id for item in record.documents])
    return record


def _visible_record(use_cases: UseCases, collection: Collection, patient: str) -> PatientRecord:
    engine = use_cases.medley.engine
    request = LegsRequest(
        index=engine.resolve(collection.name).index,
        lexical=LexicalQuery((), everything=True),
        vectors={},
        access=use_cases.caller.access,
        documents=MAX_DOCUMENTS + 1,
        filters=(Terms(collection.group_by, (patient,)),),
    )
    (ranking,) = engine.legs(request).rankings.values()
    ids = list(dict.fromkeys(item.document for item in ranking))
    # The store has the newest versions: one may by now belong to somebody else, or be hidden.
    visible = use_cases.visible(collection.name, ids).values()
    documents = sorted((item for item in visible if _patient_of(item, collection) == patient), key=lambda item: item.id)
    documents.sort(key=lambda item: date_of(item, collection) or date.min, reverse=True)
    return PatientRecord(collection, patient, tuple(documents[:MAX_DOCUMENTS]), len(ids) <= MAX_DOCUMENTS)


def _patient_of(document: Document, collection: Collection) -> str:
    value = document.fields.get(collection.group_by)
    return value if isinstance(value, str) else ""
