"""What cohorts may cost: the evidence of one page, and the patients that one request compares or exports."""

from __future__ import annotations

from typing import Final

from mappings.errors import InvalidInput
from search.cohorts.definition import CohortDefinition
from search.settings import Settings

MAX_STANDINGS: Final = 10_000
"""Most patients times criteria of one page: each is looked up in the patient's documents."""


def page_size(definition: CohortDefinition, most: int) -> int:
    """How many patients a page can have, at most `most`."""
    return max(1, min(most, MAX_STANDINGS // max(1, len(definition.criteria))))


def check_page(definition: CohortDefinition, size: int) -> None:
    """Raise `InvalidInput` if a page of `size` patients would show too much evidence."""
    allowed = page_size(definition, size)
    if size > allowed:
        raise InvalidInput(
            f"a page with {len(definition.criteria)} criteria can have {allowed} patients: ask for a smaller size, and for "
            "the next page after it",
            field="size",
        )


def check_patients(total: int, settings: Settings) -> None:
    """Raise `InvalidInput` for a cohort of more patients than one request may compare or export."""
    if 0 < settings.cohort_patients < total:
        raise InvalidInput(
            f"the cohort has {total:,} patients, and one request compares or exports {settings.cohort_patients:,} at most: "
            "add criteria, such as dates, and do it in parts",
            field="all",
        )
