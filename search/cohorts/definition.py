"""What a cohort asks of patients: criteria over all of a patient's documents, read from JSON and written back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from mappings.bundles import TermBundle
from search.query import Filter

MAX_CRITERIA: Final = 200

MAX_CONCEPTS: Final = 2_000
"""Most concepts of all criteria together; a bundle has one for each of its terms."""


@dataclass(frozen=True, slots=True)
class CohortCriterion:
    """One criterion: a document of the patient says so. What is left out is not asked for.

    `concept` is the id of a concept and `assertion` what is asserted of it (one of the six assertions), or of any concept of
    `bundle`; `words` are words that the document has; `filters` are on its fields; `since` and `until`, both included, bound
    its date. `within_days` of the criterion with the number `of` in the definition (from 0, in the order all, any, none)
    counts only documents with a date that is at most so many days before or after that of one that meets the other. `typed`
    is how the user named it.
    """

    typed: str = ""
    concept: str = ""
    assertion: str = "present"
    words: str = ""
    filters: tuple[Filter, ...] = ()
    since: date | None = None
    until: date | None = None
    within_days: int | None = None
    of: int | None = None
    bundle: TermBundle | None = None

    @property
    def concepts(self) -> tuple[str, ...]:
        """The ids of the concepts of which one is asked for; none for a criterion without."""
        if self.bundle:
            return self.bundle.concepts
        return (self.concept,) if self.concept else ()


@dataclass(frozen=True, slots=True)
class CohortDefinition:
    """The patients who meet every criterion of `all`, at least one of `any` (if there are any), and none of `none`."""

    collection: str
    all: tuple[CohortCriterion, ...] = ()
    any: tuple[CohortCriterion, ...] = ()
    none: tuple[CohortCriterion, ...] = ()

    @property
    def criteria(self) -> tuple[CohortCriterion, ...]:
        """All criteria in the order of their numbers."""
        return (*self.all, *self.any, *self.none)
