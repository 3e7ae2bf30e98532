"""Patients of a cohort as the engines answer them, for the tests of exports."""

from datetime import date

from mappings.clinical.concepts import ClinicalConcept, ConceptLexicon, shipped_concepts
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.results import CohortEvidence, CohortPatient, CriterionStanding
from search.pipeline.results import Span
from web.exports.cohort_export import CohortExport

DAY = date(2026, 3, 1)


def said(text, term, concept, assertion="present", **further):
    """The evidence that `text` is, with its `term` marked."""
    start = text.index(term)
    known = {
        "document": "n1",
        "passage": f"{further.get('document', 'n1')}@1#0",
        "date": date(2024, 5, 6),
        "type": "Radiology",
        "title": "Chest radiograph",
        "heading": "FINDINGS",
        "start": 10,
    } | further
    mark = Span(start, start + len(term))
    end = known["start"] + len(text)
    return CohortEvidence(**known, text=text, end=end, mark=mark, concept=concept, assertion=assertion)


def patient(name, *standings):
    """A patient with (standing, evidence, …) for each criterion."""
    return CohortPatient(name, 1, tuple(CriterionStanding(kind, tuple(found)) for kind, *found in standings))


def export(*criteria, lexicon=None, invented=False):
    definition = CohortDefinition("notes", criteria or (CohortCriterion("pneumonia", "pneumonia"),))
    return CohortExport(definition, lexicon or shipped_concepts(), DAY, "Medley 1", invented)


def lexicon_of(tmp_path, *rows):
    """A lexicon of one user's file with all code columns."""
    head = "id\tpreferred name\tparents\tsynonyms\tabbreviations\tUMLS\tSNOMED CT\tICD-10\tRxNorm\tOMOP"
    file = tmp_path / "diagnoses.tsv"
    file.write_text("\n".join([head, *("\t".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return ConceptLexicon([file])


def concept(identifier) -> ClinicalConcept:
    return shipped_concepts().get(identifier)
