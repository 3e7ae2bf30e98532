"""Reads a whole cohort page by page, for what one request compares or exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from mappings.errors import Unavailable
from search.cohorts.results import CohortIds, CohortPage
from search.settings import Settings
from web.serving import cohort_limits

Pause = Callable[[], None]
"""Called between two pages of a long request; what it raises ends the request."""

Paged = TypeVar("Paged", CohortPage, CohortIds)


def no_pause() -> None:
    """For a request that nobody else waits for."""


def all_pages(read: Callable[[str], Paged], settings: Settings, pause: Pause) -> Iterator[Paged]:
    """Every page in order; `read` gives the page after a patient.

    Raises `InvalidInput` for a cohort of more patients than `settings` allow, and `Unavailable` if the index was replaced
    between two pages, because patients of the new one could be missing.
    """
    page = read("")
    cohort_limits.check_patients(page.total, settings)
    index = page.index
    yield page
    while page.next:
        pause()
        page = read(page.next)
        if page.index != index:
            raise Unavailable("the index was replaced while the cohort was read: send the request again")
        yield page
