"""Runs a cohort: asks the engine for its patients, and shows for each of a page what the documents say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from mappings.clinical.reading import ConceptReader
from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import InvalidInput, NotFound
from search.cohorts.compile import compiled, contradictions, date_field
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.evidence import (
    DocumentContent,
    keys_of_criteria,
    opening_documents,
    patient_standings,
    phrases_of_criteria,
)
from search.cohorts.results import CohortIds, CohortPage
from search.pipeline.freshness import MAX_WITHHELD, Withheld, find_withheld
from search.pipeline.services import SearchServices, Trace
from search.protocols import IndexMeta, PatientDocuments, PatientsAnswer, PatientsRequest

MAX_PATIENTS: Final = 500
"""Most patients of a page."""

ID_PAGE: Final = 5_000
"""Most patients of a page of ids."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What stays the same once a cohort has chosen its index."""

    services: SearchServices
    collection: Collection
    access: Access
    meta: IndexMeta
    reader: ConceptReader | None


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
        return _page(definition, _context(collection, access, services), after, size)
    except NotFound:
        # The index was dropped after it was resolved: its successor is published by now.
        return _page(definition, _context(collection, access, services), after, size)


def cohort_ids(
    definition: CohortDefinition, access: Access, services: SearchServices, after: str = "", size: int = ID_PAGE
) -> CohortIds:
    """As `cohort`, of at most `ID_PAGE` patients, without what their documents say."""
    if not 1 <= size <= ID_PAGE:
        raise InvalidInput(f"size is {size}; it must be between 1 and {ID_PAGE:,}", field="size")
    collection = services.collection(definition.collection)
    try:
        return _ids(definition, _context(collection, access, services), after, size)
    except NotFound:
        return _ids(definition, _context(collection, access, services), after, size)


def _context(collection: Collection, access: Access, services: SearchServices) -> _Context:
    meta = services.engine.resolve(collection.name)
    return _Context(services, collection, access, meta, services.reader(collection))


def _page(definition: CohortDefinition, context: _Context, after: str, size: int) -> CohortPage:
    meta = context.meta
    answer, withheld = _asked(definition, context, after, size)
    contents = _contents(context, answer.patients, definition.criteria)
    lexicon = context.reader.lexicon if context.reader else None
    return CohortPage(
        patients=tuple(patient_standings(item, definition.criteria, contents) for item in answer.patients),
        total=answer.total,
        patients_known=answer.known,
        counts=answer.counts,
        index=meta.index,
        next=answer.patients[-1].patient if answer.has_more and answer.patients else "",
        degraded=tuple(_shortcomings(context, withheld, definition)),
        notes=tuple(contradictions(definition, lexicon)),
    )


def _ids(definition: CohortDefinition, context: _Context, after: str, size: int) -> CohortIds:
    answer, withheld = _asked(definition, context, after, size, names_only=True)
    return CohortIds(
        patients=tuple(item.patient for item in answer.patients),
        total=answer.total,
        index=context.meta.index,
        next=answer.patients[-1].patient if answer.has_more and answer.patients else "",
        degraded=tuple(_shortcomings(context, withheld, definition)),
    )


def _asked(
    definition: CohortDefinition, context: _Context, after: str, size: int, names_only: bool = False
) -> tuple[PatientsAnswer, Withheld]:
    """The engine's answer, and what it counted as absent."""
    meta, collection = context.meta, context.collection
    withheld = find_withheld(context.services, meta, Trace())
    request = PatientsRequest(
        index=meta.index,
        group_by=collection.group_by,
        access=context.access,
        all=compiled(definition.all, collection),
        any=compiled(definition.any, collection),
        none=compiled(definition.none, collection),
        date=date_field(collection),
        withheld=withheld.documents,
        after=after,
        size=size,
        names_only=names_only,
    )
    return context.services.engine.patients(request), withheld


def _contents(
    context: _Context, patients: Sequence[PatientDocuments], criteria: Sequence[CohortCriterion]
) -> Mapping[str, DocumentContent]:
    """The documents of the page's patients, without those of which there is a newer version by now."""
    engine, index, access = context.services.engine, context.meta.index, context.access
    documents = sorted({name for item in patients for name in item.documents})
    if not documents:
        return {}
    fields = engine.fields(index, documents, access)
    keys, phrases = keys_of_criteria(criteria), phrases_of_criteria(criteria)
    passages = engine.proofs(index, documents, keys, access, phrases)
    newest = _newest(context, documents)
    lexicon = context.reader.lexicon if context.reader else None
    name = date_field(context.collection)
    contents = {}
    for document, own in fields.items():
        day = own.get(name)
        contents[document] = DocumentContent(own, day if isinstance(day, date) else None)
        shown = [item for item in passages.get(document, ()) if newest is None or newest.get(document) == item.version]
        contents[document].read(shown, lexicon)
    if newest is not None:
        _read_openings(context, opening_documents(patients, criteria, contents), newest, contents)
    return contents


def _read_openings(
    context: _Context, documents: Sequence[str], newest: Mapping[str, int], contents: Mapping[str, DocumentContent]
) -> None:
    ids = [f"{name}@{newest[name]}#0" for name in documents if name in newest]
    found = context.services.engine.passages(context.meta.index, ids, context.access) if ids else {}
    for passage in found.values():
        contents[passage.document].opening = passage


def _newest(context: _Context, documents: Sequence[str]) -> Mapping[str, int] | None:
    store = context.services.store
    return store(context.collection.name).newest(set(documents)) if store else None


def _shortcomings(context: _Context, withheld: Withheld, definition: CohortDefinition) -> list[str]:
    meta, reader, found = context.meta, context.reader, []
    if not withheld.complete:
        found.append(
            f"more than {MAX_WITHHELD:,} changed documents wait to be indexed: patients may be counted by earlier versions"
        )
    if reader and meta.reading != reader.version and any(item.concepts for item in definition.criteria):
        found.append(
            f"the documents of the index {meta.index} were read by another version ({meta.reading or 'none'}, now "
            f"{reader.version}): concepts may be missed until it is rebuilt"
        )
    return found
