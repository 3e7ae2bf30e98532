"""A cohort as rows of NOTE_NLP, the table of OMOP's Common Data Model (5.4) for what was read in notes, as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final
from urllib.parse import quote

from mappings.clinical.concepts import ClinicalConcept
from search.cohorts.results import CohortEvidence, CohortPatient
from web.citations.csv_table import safe_cell
from web.exports.cohort_export import CohortExport, mentions_of

NOTE_NLP_COLUMNS: Final = (
    *("note_nlp_id", "note_id", "section_concept_id", "snippet", "offset", "lexical_variant", "note_nlp_concept_id"),
    *("note_nlp_source_concept_id", "nlp_system", "nlp_date", "nlp_datetime", "term_exists", "term_temporal"),
    "term_modifiers",
)
NO_MATCH: Final = "0"
"""What OMOP writes for a concept that its vocabularies do not have."""

MAX_TEXT: Final = 250
MAX_MODIFIERS: Final = 2_000
MAX_INTEGER: Final = 2**31 - 1
_WHOLE: Final = re.compile(r"[1-9][0-9]{0,9}")
_STATED: Final = frozenset(["present", "historical"])
_LIST_MARKS: Final = " \t\r\n=+-@*"


def as_note_nlp(patients: Iterable[CohortPatient], export: CohortExport) -> Iterator[str]:
    """CSV with a header line, in pieces: one for each patient, with a row for each mention."""
    numbers = count(1)
    yield _rows([NOTE_NLP_COLUMNS])
    for patient in patients:
        yield _rows(_row(next(numbers), patient.patient, item, export) for item in mentions_of(patient))


def _row(number: int, patient: str, item: CohortEvidence, export: CohortExport) -> tuple[str, ...]:
    concept = export.concept(item.concept)
    is_note_id = _WHOLE.fullmatch(item.document) and int(item.document) <= MAX_INTEGER
    cells = {
        "note_nlp_id": str(number),
        "note_id": item.document if is_note_id else NO_MATCH,
        "section_concept_id": NO_MATCH,
        "snippet": snippet(item),
        "lexical_variant": item.text[item.mark.start : item.mark.end][:MAX_TEXT],
        "note_nlp_concept_id": next(iter(concept.codes.get("OMOP", ())), NO_MATCH),
        "note_nlp_source_concept_id": NO_MATCH,
        "nlp_system": export.system[:MAX_TEXT],
        "nlp_date": export.day.isoformat(),
        "term_exists": "Y" if item.assertion in _STATED else "N",
        "term_temporal": "past" if item.assertion == "historical" else "present",
        "term_modifiers": _modifiers(patient, item, concept, export.invented),
    }
    return tuple(cells.get(name, "") for name in NOTE_NLP_COLUMNS)


def snippet(item: CohortEvidence) -> str:
    """At most `MAX_TEXT` characters of the sentence around the mention, without the mark of a list before them."""
    start, end = item.mark
    around = max(0, MAX_TEXT - (end - start))
    first = max(0, min(start - around // 2, len(item.text) - MAX_TEXT))
    window = item.text[first : first + MAX_TEXT]
    before = window[: start - first]
    return before.lstrip(_LIST_MARKS) + window[len(before) :]


def _modifiers(patient: str, item: CohortEvidence, concept: ClinicalConcept, invented: bool) -> str:
    """`name=value` pairs, separated by commas; in the values, commas and other separators are percent-encoded.

    A pair for which there is no room is left out whole.
    """
    pairs = [
        ("negation", _flag(item.assertion == "ruled-out")),
        ("subject", "family" if item.assertion == "family" else "patient"),
        ("uncertain", _flag(item.assertion == "uncertain")),
        ("conditional", _flag(item.assertion == "hypothetical")),
        ("history", _flag(item.assertion == "historical")),
        ("document", item.document),
        ("patient", patient),
        ("concept", concept.id),
        *((system, code) for system, codes in concept.codes.items() if system != "OMOP" for code in codes),
        *([("invented", "true")] if invented else []),
        ("passage_number", item.passage.rpartition("#")[2]),
        ("passage_offset", str(item.start + item.mark.start)),
    ]
    text = ""
    for name, value in pairs:
        pair = f"{',' if text else ''}{name}={quote(value, safe=' /:@#+()')}"
        text += pair if len(text) + len(pair) <= MAX_MODIFIERS else ""
    return text


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _rows(rows: Iterable[Iterable[str]]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows([safe_cell(cell) for cell in row] for row in rows)
    return file.getvalue()
