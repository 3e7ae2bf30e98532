"""Builds the bodies of the searches that find patients. Pure: no client, no clock.

Documents are searched by their first passages, which have their fields and all of their terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from search.document_criteria import DocumentCriterion
from search.engines.codec import encodable
from search.engines.opensearch.queries import WINDOW, Body, OpenSearchQueryCompiler, visible_to
from search.protocols import ALONE, PatientsRequest

BUCKETS: Final = 50_000
"""Patients, or patients and days, of one page; a cluster allows 65,535 buckets."""

DOCUMENT: Final = "document"
EVERY: Final = DocumentCriterion()
"""What every document meets."""

NAME: Final = "name"
DAY: Final = "day"


class PatientBodies:
    """The bodies for one request. Raises `InvalidInput` for a field that the index does not have."""

    def __init__(self, request: PatientsRequest, compiler: OpenSearchQueryCompiler) -> None:
        self._request, self._compiler = request, compiler
        if request.group_by != DOCUMENT:
            compiler.field_kind(request.group_by)
        if request.date and any(item.of is not None for item in request.criteria):
            compiler.field_kind(request.date)
        self.field = f"fields.{request.group_by}"
        self._date = f"fields.{request.date}"

    def names(self, criterion: DocumentCriterion, alone: bool, dated: bool, after: Mapping[str, Any] | None) -> Body:
        """A page of the patients with a document that meets the criterion, from behind `after`.

        `alone`: of the documents that are patients of their own, by their ids. `dated`: of every patient and day of
        such a document.
        """
        sources = [{NAME: {"terms": {"field": DOCUMENT if alone else self.field}}}]
        sources += [{DAY: {"terms": {"field": self._date}}}] if dated else []
        page = {"size": BUCKETS, "sources": sources, **({"after": after} if after else {})}
        clauses = self._clauses(criterion)
        if alone and self._request.group_by != DOCUMENT:
            clauses.append({"bool": {"must_not": [self._grouped()]}})
        # In order of name: `terms` orders by counts, twice, which takes longer than to find the patients.
        aggregation = {"patients": {"composite": page}}
        return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": clauses}}, "aggs": aggregation}

    @staticmethod
    def next_page(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What the page behind this one follows; None where there is none."""
        return found["after_key"] if len(found.get("buckets", ())) == BUCKETS else None

    def documents(self, criterion: DocumentCriterion, names: Sequence[str], after: Sequence[Any]) -> Body:
        """One page of the documents of these patients that meet the criterion, in order of id."""
        return {
            "size": WINDOW,
            "track_total_hits": False,
            "stored_fields": "_none_",  # reading ids and sources of hits takes longer than all the rest
            "docvalue_fields": [DOCUMENT, self.field, *([self._date] if self._request.date else [])],
            "query": {"bool": {"filter": [*self._clauses(criterion), self._of(names)]}},
            "sort": [DOCUMENT],
            **({"search_after": list(after)} if after else {}),
        }

    def _clauses(self, criterion: DocumentCriterion) -> list[Body]:
        request = self._request
        clauses = [{"term": {"kind": DOCUMENT}}, visible_to(request.access), *self._compiler.meeting(criterion)]
        if request.withheld:
            clauses.append({"bool": {"must_not": [{"terms": {DOCUMENT: list(map(encodable, request.withheld))}}]}})
        return clauses

    def _grouped(self) -> Body:
        """The documents that name a patient: an empty value names none."""
        return {"range": {self.field: {"gt": ""}}}

    def _of(self, names: Sequence[str]) -> Body:
        if self._request.group_by == DOCUMENT:
            return {"terms": {DOCUMENT: list(names)}}
        alone = [name.removeprefix(ALONE) for name in names if name.startswith(ALONE)]
        own = {"bool": {"filter": [{"terms": {DOCUMENT: alone}}], "must_not": [self._grouped()]}}
        return {"bool": {"should": [{"terms": {self.field: list(names)}}, own], "minimum_should_match": 1}}
