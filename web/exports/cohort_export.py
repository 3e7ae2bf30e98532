"""What the export of a cohort is of, beside its patients, and what all formats take from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from mappings.clinical.concepts import ClinicalConcept, ConceptLexicon
from mappings.errors import NotFound
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.results import CohortEvidence, CohortPatient
from search.query import Filter, Range


@dataclass(frozen=True, slots=True)
class CohortExport:
    """The definition of an exported cohort, the lexicon of its concepts, the day, and what read the documents (`system`).

    `invented`: the documents of the collection are made up, and the file must say so.
    """

    definition: CohortDefinition
    lexicon: ConceptLexicon
    day: date
    system: str = "Medley"
    invented: bool = False

    def concept(self, identifier: str) -> ClinicalConcept:
        """The concept with that id; one that has left the lexicon since the documents were read has its id as its name."""
        try:
            return self.lexicon.get(identifier)
        except NotFound:
            return ClinicalConcept(identifier, identifier, "")

    def named(self, criterion: CohortCriterion) -> str:
        """A criterion in words, such as `family: breast cancer, since 2020-01-01`."""
        name = criterion.typed or (self.concept(criterion.concept).name if criterion.concept else criterion.words)
        if criterion.bundle and name == criterion.bundle.name:
            name = f"bundle {name}"
        stated = f"{criterion.assertion}: {name}" if criterion.concepts and criterion.assertion != "present" else name
        return ", ".join(filter(None, (stated, *map(_in_words, criterion.filters), *_bounds(criterion))))


def mentions_of(patient: CohortPatient) -> Iterator[CohortEvidence]:
    """The distinct mentions of concepts in a patient's evidence: one sentence can speak of several criteria."""
    evidence = (item for standing in patient.standings for item in standing.evidence if item.concept)
    return iter({mention_key(item): item for item in evidence}.values())


def mention_key(item: CohortEvidence) -> tuple[str, int, str, str]:
    """What makes a mention distinct: its passage, its place there, its concept and what is asserted of it."""
    return item.passage, item.start + item.mark.start, item.concept, item.assertion


def _in_words(item: Filter) -> str:
    if isinstance(item, Range):
        low, high = ("" if bound is None else str(bound) for bound in (item.low, item.high))
        return f"{item.name} {low}..{high}"
    return f"{item.name} {' or '.join(item.values)}"


def _bounds(criterion: CohortCriterion) -> Iterator[str]:
    if criterion.since:
        yield f"since {criterion.since}"
    if criterion.until:
        yield f"until {criterion.until}"
    if criterion.within_days is not None and criterion.of is not None:
        yield f"within {criterion.within_days} days of criterion {criterion.of + 1}"
