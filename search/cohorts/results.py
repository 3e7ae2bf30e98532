"""What is known of the patients of a cohort: counts, and for each patient the sentences that show each criterion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from search.pipeline.results import Span

Standing = Literal["met", "ruled-out", "uncertain", "other", "not-mentioned"]
"""How a patient stands to a criterion. `met`: a document says what is asked; otherwise what documents say of the concept."""


@dataclass(frozen=True, slots=True)
class CohortEvidence:
    """A sentence of a patient's document that speaks of a criterion. Offsets are those of `Proof`."""

    document: str
    passage: str
    date: date | None
    type: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    mark: Span
    concept: str
    assertion: str


@dataclass(frozen=True, slots=True)
class CriterionStanding:
    """How one patient stands to one criterion, and the sentences that show it, the newest first."""

    standing: Standing
    evidence: tuple[CohortEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class CohortPatient:
    """One patient of a cohort; `standings` has one for each criterion of the definition, in the order of their numbers."""

    patient: str
    documents: int
    standings: tuple[CriterionStanding, ...]


@dataclass(frozen=True, slots=True)
class CohortPage:
    """One page of a cohort's patients in the order of their ids.

    `total` is how many patients the caller may see that meet the definition, exactly; `patients_known` all patients that
    the caller may see. `counts` has for each criterion how many patients meet it by itself. `next` is the id after which
    the next page begins, "" on the last page. `notes` say what is odd about the definition: that it contradicts itself.
    """

    patients: tuple[CohortPatient, ...]
    total: int
    patients_known: int
    counts: tuple[int, ...]
    index: str
    next: str = ""
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CohortIds:
    """The ids of a cohort's patients in order, a page of `total`; `index`, `next` and `degraded` as in `CohortPage`."""

    patients: tuple[str, ...]
    total: int
    index: str
    next: str = ""
    degraded: tuple[str, ...] = ()
