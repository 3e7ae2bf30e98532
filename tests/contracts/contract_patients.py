"""The patients that an engine must find, by a plain loop over the drafts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

import contract_reference as reference
from backends import Draft, random_drafts

from mappings.analysis.words import terms
from search.document_criteria import DocumentCriterion
from search.protocols import PatientDocuments, PatientsRequest
from search.query import Phrase

Patients = Mapping[str, Sequence[Draft]]


def ward_drafts(seed: int, count: int) -> list[Draft]:
    """Random documents of a dozen patients: `journal` names the patient, some name two, some none."""
    rng = random.Random(seed)
    found = []
    for draft in random_drafts(seed, count):
        fields = {name: value for name, value in draft.fields.items() if name != "journal"}
        names = tuple(rng.sample([f"p{number:02}" for number in range(12)], rng.choice((0, 1, 1, 1, 1, 2))))
        if names:
            fields["journal"] = names if len(names) > 1 else names[0]
        elif rng.random() < 0.5:
            fields["journal"] = ""
        found.append(replace(draft, fields=fields))
    return found


def patients_of(draft: Draft, group_by: str) -> list[str]:
    if group_by == "document":
        return [draft.id]
    value = draft.fields.get(group_by, ())
    named = [name for name in (value if isinstance(value, tuple) else (value,)) if name]
    return [str(name) for name in named] or [f"id:{draft.id}"]


def has_phrase(draft: Draft, phrase: Phrase) -> bool:
    parts = [terms(text) for text in (draft.title, draft.heading, *draft.texts)]
    size = len(phrase)
    return any(tuple(part[at : at + size]) == phrase for part in parts for at in range(len(part) - size + 1))


def meets_alone(draft: Draft, item: DocumentCriterion) -> bool:
    """Whether a document meets a criterion, whatever its days."""
    held = all(any(has_phrase(draft, phrase) for phrase in forms) for forms in item.wanted)
    return held and all(reference.keeps(one, draft) for one in item.filters)


def meets(draft: Draft, number: int, request: PatientsRequest, own: Sequence[Draft]) -> bool:
    """Whether a document meets a criterion, among all documents of its patient."""
    item = request.criteria[number]
    if not meets_alone(draft, item):
        return False
    if item.of is None:
        return True
    day = draft.fields.get(request.date)
    others = [other.fields.get(request.date) for other in own if meets(other, item.of, request, own)]
    return isinstance(day, date) and any(
        isinstance(other, date) and abs((other - day).days) <= (item.within_days or 0) for other in others
    )


def all_patients(drafts: Iterable[Draft], request: PatientsRequest) -> Patients:
    """Every patient that the caller may see, with the documents, in order of name."""
    found: dict[str, list[Draft]] = {}
    for draft in sorted(reference.visible(drafts, request.access), key=lambda item: item.id):
        if draft.id not in request.withheld:
            for name in patients_of(draft, request.group_by):
                found.setdefault(name, []).append(draft)
    return dict(sorted(found.items()))


def chosen_patients(patients: Patients, request: PatientsRequest) -> list[PatientDocuments]:
    """All patients who meet the criteria, without regard to pages."""
    first, second = len(request.all), len(request.all) + len(request.any)
    found = []
    for name, own in patients.items():
        meeting = tuple(
            tuple(draft.id for draft in own if meets(draft, number, request, own))
            for number in range(len(request.criteria))
        )
        any_met = any(meeting[first:second]) or not request.any
        if all(meeting[:first]) and any_met and not any(meeting[second:]):
            found.append(PatientDocuments(name, tuple(draft.id for draft in own), meeting))
    return found


def counts(patients: Patients, request: PatientsRequest) -> tuple[int, ...]:
    """For each criterion how many patients meet it by itself."""
    return tuple(
        sum(any(meets(draft, number, request, own) for draft in own) for own in patients.values())
        for number in range(len(request.criteria))
    )
