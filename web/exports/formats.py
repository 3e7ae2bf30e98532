"""The formats of exported cohorts by name, each with its writer, media type and file name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from search.cohorts.results import CohortPatient
from web.exports.cohort_export import CohortExport
from web.exports.evidence_table import as_evidence_table
from web.exports.fhir_bundle import as_fhir_bundle
from web.exports.note_nlp import as_note_nlp


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format: its writer gives the file in pieces; `ending` follows the collection in the file's name."""

    write: Callable[[Iterable[CohortPatient], CohortExport], Iterator[str]]
    media_type: str
    ending: str


EXPORTS: Final[Mapping[str, ExportFormat]] = {
    "csv": ExportFormat(as_evidence_table, "text/csv", "cohort.csv"),
    "omop": ExportFormat(as_note_nlp, "text/csv", "note_nlp.csv"),
    "fhir": ExportFormat(as_fhir_bundle, "application/fhir+json", "bundle.json"),
}
