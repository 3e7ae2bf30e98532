"""Which patients meet criteria, on one commit: one mask of documents for each criterion, and what they say of patients."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np

from search.document_criteria import DocumentCriterion
from search.engines.embedded.cohorts.table import Numbers, PatientTable
from search.engines.embedded.queries import TantivyQueryCompiler
from search.engines.patients import Mask, MaskCache, choose
from search.protocols import PatientDocuments, PatientsAnswer, PatientsRequest

_STRIDE: Final = 2**23
# More days than there are from year 1 to 9999 and `MAX_DAYS` on both sides: the days of two patients never mix.


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
        allowed = self._allowed()
        shown = allowed[self.table.document]
        pairs = self._pairs_of_criteria(allowed)
        met = [self._patients_of(own) for own in pairs]
        page, answer = choose(self.request, self.table.names, self._patients_of(shown), met)
        return replace(answer, patients=self._page(page, shown, pairs))

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
        if self.request.names_only:
            return tuple(PatientDocuments(table.names[number]) for number in page)
        places = np.flatnonzero(np.isin(table.patient, page) & allowed)
        documents = self.index.documents_at(table.slots[table.document[places]].tolist())
        own: dict[int, list[tuple[str, int]]] = {number: [] for number in page}
        for name, place in zip(documents, places.tolist(), strict=True):
            own[int(table.patient[place])].append((name, place))
        return tuple(_shown(table.names[number], sorted(own[number]), pairs) for number in page)

    def _mask(self, key: Hashable, query: Callable[[], Any]) -> Mask:
        kept = self.masks.get(key, len(self.table.slots))
        return kept if kept is not None else self.masks.put(key, self._find(query()))

    def _find(self, query: Any) -> Mask:
        slots = self.index.matching_slots(query)
        found = np.zeros(len(self.table.slots), bool)
        found[np.searchsorted(self.table.slots, slots)] = True
        return found


def _shown(name: str, own: Sequence[tuple[str, int]], pairs: Sequence[Mask]) -> PatientDocuments:
    meeting = (tuple(document for document, place in own if criterion[place]) for criterion in pairs)
    return PatientDocuments(name, tuple(document for document, _ in own), tuple(meeting))
