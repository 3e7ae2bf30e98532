"""The patients of one commit: who is in which document, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PatientTable:
    """The patients `names`, sorted; their number is their place. A *pair* is a document and one of its patients.

    `slots` are the first slots of the documents, ascending, shape (documents,). The pairs are `document` (a place in
    `slots`) and `patient`, both of shape (pairs,), by document.
    """

    names: tuple[str, ...]
    slots: Numbers
    document: Numbers
    patient: Numbers


def build_table(
    slots: Numbers, read: Callable[[Sequence[int]], Iterable[tuple[str, ...]]], previous: PatientTable | None
) -> PatientTable:
    """The table of the documents at `slots`, ascending; `read` gives the patients of each document at the slots given.

    What `previous` has is not read again: a slot never changes.
    """
    found: list[tuple[str, ...]] = [()] * len(slots)
    unread = np.ones(len(slots), bool)
    if previous is not None:
        kept = np.isin(slots, previous.slots)
        unread = ~kept
        _copy(found, slots, kept, previous)
    places = np.flatnonzero(unread).tolist()
    for place, own in zip(places, read(slots[unread].tolist()), strict=True):
        found[place] = own
    names = sorted({name for own in found for name in own})
    numbers = {name: number for number, name in enumerate(names)}
    return PatientTable(
        tuple(names),
        slots,
        np.repeat(np.arange(len(slots)), [len(own) for own in found]),
        np.asarray([numbers[name] for own in found for name in own], np.int64),
    )


def _copy(found: list[tuple[str, ...]], slots: Numbers, kept: NDArray[np.bool_], previous: PatientTable) -> None:
    starts = np.searchsorted(previous.document, np.arange(len(previous.slots) + 1))
    for place, old in zip(
        np.flatnonzero(kept).tolist(), np.searchsorted(previous.slots, slots[kept]).tolist(), strict=True
    ):
        own = previous.patient[starts[old] : starts[old + 1]].tolist()
        found[place] = tuple(previous.names[number] for number in own)
