"""What one document of a patient must have for a cohort: filters, words, and days from another document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mappings.errors import InvalidInput
from search.query import Filter, Phrase

MAX_DAYS: Final = 40_000
"""Most days of `within_days`."""


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
    seen, at = [number], distances[number][1]
    while at is not None and 0 <= at < len(distances):
        if at in seen:
            way = f", by way of criterion {seen[-1]}" if len(seen) > 1 else ""
            raise InvalidInput(f"criterion {number}: its days are counted from itself{way}", field="of")
        seen.append(at)
        at = distances[at][1]
