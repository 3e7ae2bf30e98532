"""Runs a cohort: its criteria as an engine reads them, and its page of patients with the evidence for each criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.placing import assertion_key
from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import InvalidInput, NotFound
from mappings.fields import ASSERTED
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.evidence import EvidenceFinder
from search.cohorts.results import CohortPage
from search.cohorts.words import wanted
from search.patients import DocumentCriterion, PatientsAnswer, PatientsRequest
from search.pipeline.freshness import find_withheld
from search.pipeline.services import SearchServices, Trace
from search.protocols import IndexMeta
from search.query import Filter, Range, Terms

MAX_PATIENTS: Final = 500
"""Most patients of a page."""


def cohort(
    definition: CohortDefinition, access: Access, services: SearchServices, after: str = "", size: int = 20
) -> CohortPage:
    """The page of `size` patients after the patient `after`, "" for the first one.

    Raises `NotFound` for an unknown collection, `InvalidInput` for a size that is not allowed and for criteria that do not
    fit the collection, `Unavailable` if the engine is down.
    """
    if not 1 <= size <= MAX_PATIENTS:
        raise InvalidInput(f"size is {size}; it must be between 1 and {MAX_PATIENTS}", field="size")
    collection = services.collection(definition.collection)
    try:
        return _page(definition, collection, access, services, after, size)
    except NotFound:
        # The index was dropped after it was resolved: its successor is published by now.
        return _page(definition, collection, access, services, after, size)


def _page(
    definition: CohortDefinition,
    collection: Collection,
    access: Access,
    services: SearchServices,
    after: str,
    size: int,
) -> CohortPage:
    trace = Trace()
    meta = services.engine.resolve(collection.name)
    reader = services.reader(collection)
    lexicon = reader.lexicon if reader else None
    withheld = find_withheld(services, meta, trace)
    answer = services.engine.patients(
        PatientsRequest(
            index=meta.index,
            group_by=collection.group_by,
            access=access,
            all=_compiled(definition.all, collection),
            any=_compiled(definition.any, collection),
            none=_compiled(definition.none, collection),
            date=date_field(collection) or "",
            withheld=withheld.documents,
            after=after,
            size=size,
        )
    )
    if reader and meta.reading != reader.version and any(item.concept for item in definition.criteria):
        trace.degraded.append(
            f"the documents of the index {meta.index} were read by another version ({meta.reading or 'none'}, now "
            f"{reader.version}): concepts may be missed until it is rebuilt"
        )
    finder = EvidenceFinder(services, meta.index, collection, access, lexicon)
    return CohortPage(
        patients=finder.patients(answer.patients, definition.criteria),
        total=answer.total,
        patients_known=answer.known,
        counts=answer.counts,
        index=meta.index,
        next=answer.patients[-1].patient if answer.has_more else "",
        degraded=tuple(trace.degraded),
        notes=tuple(contradictions(definition, lexicon)),
    )
