"""What an engine is asked about patients: which of them meet criteria over all of their documents, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mappings.documents import Access
from mappings.errors import InvalidInput
from search.query import Filter, Phrase

MAX_DAYS: Final = 40_000
"""Most days of `within_days`."""

ALONE: Final = "id:"
"""Begins the name of a patient that is a single document, as it has no value of the field that groups; its id follows."""


@dataclass(frozen=True, slots=True)
class DocumentCriterion:
    """What one document has: it passes every filter, and has a form of everything `wanted` in whichever passages.

    With `within_days` it also has a date that is at most so many days before or after that of a document of the same
    patient that meets the criterion with the number `of`.
    """

    filters: tuple[Filter, ...] = ()
    wanted: tuple[tuple[Phrase, ...], ...] = ()
    within_days: int | None = None
    of: int | None = None


@dataclass(frozen=True, slots=True)
class PatientsRequest:
    """The patients who meet every criterion of `all`, at least one of `any` (if there are any), and none of `none`.

    A patient is a value of the field `group_by`, or one document: of an index that is grouped by `document`, and where the
    document has no value. Criteria are numbered from 0, in the order all, any, none. `date` is the field with the date of a
    document, which `within_days` needs. `withheld` are ids of documents that count as absent. The answer has the `size`
    patients after `after`, in the order of their names. Raises `InvalidInput` for criteria that are within days of themselves.
    """

    index: str
    group_by: str
    access: Access
    all: tuple[DocumentCriterion, ...] = ()
    any: tuple[DocumentCriterion, ...] = ()
    none: tuple[DocumentCriterion, ...] = ()
    date: str = ""
    withheld: tuple[str, ...] = ()
    after: str = ""
    size: int = 20

    def __post_init__(self) -> None:
        check_distances([(item.within_days, item.of) for item in self.criteria])

    @property
    def criteria(self) -> tuple[DocumentCriterion, ...]:
        """All criteria in the order of their numbers."""
        return (*self.all, *self.any, *self.none)


@dataclass(frozen=True, slots=True)
class PatientDocuments:
    """A patient, the documents that the caller may see, and for each criterion those that meet it; all in order of id."""

    patient: str
    documents: tuple[str, ...]
    meeting: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PatientsAnswer:
    """A page of patients in the order of their names; all counts are exact, and of documents that the caller may see.

    `total` patients meet the criteria, of the `known` ones; `counts` has for each criterion how many meet it by itself.
    """

    patients: tuple[PatientDocuments, ...]
    total: int
    known: int
    counts: tuple[int, ...]
    has_more: bool = False


def check_distances(distances: list[tuple[int | None, int | None]]) -> None:
    """Check (`within_days`, `of`) of every criterion. Raises `InvalidInput`, also for a criterion that leads to itself."""
    for number, (days, of) in enumerate(distances):
        where = f"criterion {number}"
        if (days is None) != (of is None):
            raise InvalidInput(f"{where}: 'within_days' and 'of' are given together or not at all", field="within_days")
        if days is None or of is None:
            continue
        if not 0 <= days <= MAX_DAYS:
            raise InvalidInput(
                f"{where}: within_days must be between 0 and {MAX_DAYS:,}, not {days}", field="within_days"
            )
        if not 0 <= of < len(distances):
            raise InvalidInput(
                f"{where}: there is no criterion {of}; they are numbered from 0 to {len(distances) - 1}", field="of"
            )
        _check_chain(number, distances)


def _check_chain(number: int, distances: list[tuple[int | None, int | None]]) -> None:
    seen, at = {number}, distances[number][1]
    while at is not None and 0 <= at < len(distances):
        if at in seen:
            raise InvalidInput(
                f"criterion {number}: its days are counted from itself, by way of criterion {at}", field="of"
            )
        seen.add(at)
        at = distances[at][1]
