"""Compares two cohorts: which patients are in both, and which in one only."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PatientList:
    """A page of `total` patients in the order of their ids; `next` is the id after which the next page begins, "" for none."""

    total: int
    patients: tuple[str, ...]
    next: str = ""


@dataclass(frozen=True, slots=True)
class CohortComparison:
    """The patients of both cohorts, of the first only, and of the second only; `degraded` as in `CohortPage`."""

    both: PatientList
    only_a: PatientList
    only_b: PatientList
    degraded: tuple[str, ...] = ()


def compare(
    a: Set[str], b: Set[str], after: str = "", size: int = 100, degraded: Iterable[str] = ()
) -> CohortComparison:
    """The comparison of two sets of patients: of each list, the `size` patients after the patient `after`."""
    return CohortComparison(
        both=_page(a & b, after, size),
        only_a=_page(a - b, after, size),
        only_b=_page(b - a, after, size),
        degraded=tuple(dict.fromkeys(degraded)),
    )


def _page(patients: Set[str], after: str, size: int) -> PatientList:
    later = sorted(name for name in patients if name > after)
    return PatientList(len(patients), tuple(later[:size]), later[size - 1] if len(later) > size else "")
