"""A cohort as CSV for spreadsheets: one line for each sentence that speaks of a criterion."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from search.cohorts.results import CohortPatient, CriterionStanding
from web.citations.citation import INVENTED
from web.citations.csv_table import safe_cell
from web.exports.cohort_export import CohortExport

EVIDENCE_COLUMNS: Final = (
    *("patient", "date", "type", "criterion", "standing", "assertion", "document", "sentence", "note"),
)


def as_evidence_table(patients: Iterable[CohortPatient], export: CohortExport) -> Iterator[str]:
    """CSV with a header line, in pieces: one for each patient.

    A criterion without any sentence has a line, too, so that what is not mentioned stays apart from what is ruled out. A
    cell that a spreadsheet would run as a formula starts with an apostrophe.
    """
    criteria = [export.named(item) for item in export.definition.criteria]
    note = INVENTED if export.invented else ""
    yield _lines([EVIDENCE_COLUMNS])
    for patient in patients:
        yield _lines(
            (patient.patient, *cells[:2], name, item.standing, *cells[2:], note)
            for name, item in zip(criteria, patient.standings, strict=True)
            for cells in _evidence_cells(item)
        )


def _evidence_cells(item: CriterionStanding) -> Iterator[tuple[str, str, str, str, str]]:
    """(date, type, assertion, document, sentence) of each sentence; empty ones if there is no sentence."""
    if not item.evidence:
        yield "", "", "", "", ""
    for found in item.evidence:
        day = found.date.isoformat() if found.date else ""
        yield day, found.type, found.assertion, found.document, found.text


def _lines(rows: Iterable[Iterable[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([safe_cell(cell) for cell in row] for row in rows)
    return file.getvalue()
