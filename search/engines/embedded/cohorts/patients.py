"""Which patients meet criteria, on one commit: one mask of documents for each criterion, and what they say of patients."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from search.engines.embedded.cohorts.table import Numbers, PatientTable
from search.engines.embedded.queries import TantivyQueryCompiler
from search.patients import DocumentCriterion, PatientDocuments, PatientsAnswer, PatientsRequest

_MASKS: Final = 512
_STRIDE: Final = 2**23
# More days than there are from year 1 to 9999 and `MAX_DAYS` on both sides: the days of two patients never mix.

Mask = NDArray[np.bool_]


class DocumentIndex(Protocol):
    """What is read of a snapshot: documents, each by the slot of its first passage."""

    def matching_slots(self, query: Any) -> Numbers:
        """The slots of the matching passages, in any order."""
        ...

    def days(self, name: str) -> Numbers:
        """The day number of each document's date field, ascending by slot; 0 for none."""
        ...

    def documents_at(self, slots: Sequence[int]) -> list[str]:
        """The ids of the documents at these slots."""
        ...


class MaskCache:
    """The masks of documents that queries gave on one commit, the most recently used ones. Thread-safe."""

    def __init__(self) -> None:
        self._masks: OrderedDict[Hashable, NDArray[np.uint8]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, size: int, make: Callable[[], Mask]) -> Mask:
        """The mask of `key`, of shape (size,), made where it is not kept."""
        with self._lock:
            packed = self._masks.get(key)
            if packed is not None:
                self._masks.move_to_end(key)
        if packed is not None:
            return np.unpackbits(packed, count=size).view(np.bool_)
        mask = make()
        with self._lock:
            self._masks[key] = np.packbits(mask)
            if len(self._masks) > _MASKS:
                self._masks.popitem(last=False)
        return mask


@dataclass(frozen=True, slots=True)
class PatientFinder:
    """Answers one request on one commit."""

    index: DocumentIndex
    compiler: TantivyQueryCompiler
    table: PatientTable
    masks: MaskCache
    request: PatientsRequest

    def answer(self) -> PatientsAnswer:
        """The page of patients, and the counts."""
        request, table = self.request, self.table
        allowed = self._allowed()
        pairs = self._pairs_of_criteria(allowed)
        met = [self._patients_of(own) for own in pairs]
        known = self._patients_of(allowed[table.document])
        chosen = np.flatnonzero(known & self._combined(met))
        first = int(np.searchsorted(chosen, bisect_right(table.names, request.after))) if request.after else 0
        page = chosen[first : first + request.size]
        return PatientsAnswer(
            patients=self._page(page.tolist(), allowed[table.document], pairs),
            total=len(chosen),
            known=int(known.sum()),
            counts=tuple(int(own.sum()) for own in met),
            has_more=first + len(page) < len(chosen),
        )

    def _combined(self, met: Sequence[Mask]) -> Mask:
        request = self.request
        chosen = np.ones(len(self.table.names), bool)
        first, second = len(request.all), len(request.all) + len(request.any)
        for own in met[:first]:
            chosen &= own
        if request.any:
            chosen &= np.logical_or.reduce(met[first:second])
        for own in met[second:]:
            chosen &= ~own
        return chosen

    def _allowed(self) -> Mask:
        access, withheld = self.request.access, self.request.withheld
        allowed = self._mask(("access", access.key), lambda: self.compiler.restriction((), access))
        return allowed & ~self._find(self.compiler.of_documents(withheld)) if withheld else allowed

    def _pairs_of_criteria(self, allowed: Mask) -> list[Mask]:
        """For each criterion the pairs whose documents meet it."""
        criteria, table = self.request.criteria, self.table
        found = [(self._meeting(item) & allowed)[table.document] for item in criteria]
        done: dict[int, Mask] = {}

        def near(number: int) -> Mask:
            if number not in done:
                item = criteria[number]
                own = found[number]
                done[number] = own if item.of is None else self._within(own, near(item.of), item.within_days or 0)
            return done[number]

        return [near(number) for number in range(len(criteria))]

    def _meeting(self, item: DocumentCriterion) -> Mask:
        if not (item.filters or item.wanted):
            return np.ones(len(self.table.slots), bool)
        return self._mask((item.filters, item.wanted), lambda: self.compiler.meeting(item))

    def _within(self, own: Mask, others: Mask, days: int) -> Mask:
        """Those pairs of `own` with a pair of `others` of the same patient at most `days` before or after."""
        table = self.table
        day = self.index.days(self.request.date)[table.document]
        moment = table.patient * _STRIDE + day
        wanted = np.sort(moment[others & (day > 0)])
        places = np.searchsorted(wanted, moment - days)
        nearest = np.append(wanted, np.iinfo(np.int64).max)[places]
        return own & (day > 0) & (nearest <= moment + days)

    def _patients_of(self, pairs: Mask) -> Mask:
        found = np.zeros(len(self.table.names), bool)
        found[self.table.patient[pairs]] = True
        return found

    def _page(self, page: Sequence[int], allowed: Mask, pairs: Sequence[Mask]) -> tuple[PatientDocuments, ...]:
        table = self.table
        places = np.flatnonzero(np.isin(table.patient, page) & allowed)
        documents = self.index.documents_at(table.slots[table.document[places]].tolist())
        own: dict[int, list[tuple[str, int]]] = {number: [] for number in page}
        for name, place in zip(documents, places.tolist(), strict=True):
            own[int(table.patient[place])].append((name, place))
        return tuple(_shown(table.names[number], sorted(own[number]), pairs) for number in page)

    def _mask(self, key: Hashable, query: Callable[[], Any]) -> Mask:
        return self.masks.get(key, len(self.table.slots), lambda: self._find(query()))

    def _find(self, query: Any) -> Mask:
        slots = self.index.matching_slots(query)
        found = np.zeros(len(self.table.slots), bool)
        found[np.searchsorted(self.table.slots, slots)] = True
        return found


def _shown(name: str, own: Sequence[tuple[str, int]], pairs: Sequence[Mask]) -> PatientDocuments:
    meeting = (tuple(document for document, place in own if criterion[place]) for criterion in pairs)
    return PatientDocuments(name, tuple(document for document, _ in own), tuple(meeting))
