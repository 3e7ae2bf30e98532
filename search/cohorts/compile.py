"""The criteria of a cohort as an engine reads them, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.placing import assertion_key, wider_keys
from mappings.collection import Collection
from mappings.errors import InvalidInput
from mappings.fields import ASSERTED
from search.cohorts.definition import CohortCriterion, CohortDefinition
from search.cohorts.words import wanted_phrases
from search.document_criteria import DocumentCriterion
from search.query import Filter, Range, Terms

_DATE = "date"


def date_field(collection: Collection) -> str:
    """The field with the date of a document: the one named `date`, or else the first date field; "" for none."""
    dates = [name for name, field in collection.fields.items() if field.type == "date"]
    return _DATE if _DATE in dates else next(iter(dates), "")


def compiled(criteria: Iterable[CohortCriterion], collection: Collection) -> tuple[DocumentCriterion, ...]:
    """The criteria as an engine reads them. Raises `InvalidInput` for one that the collection can't answer."""
    return tuple(_compiled(item, collection) for item in criteria)


def _compiled(item: CohortCriterion, collection: Collection) -> DocumentCriterion:
    filters: list[Filter] = list(item.filters)
    if item.concepts:
        if not collection.concepts:
            raise InvalidInput(
                f"the documents of {collection.name!r} are not read for concepts: ask for words instead",
                field="concept",
            )
        filters.append(Terms(ASSERTED, tuple(assertion_key(concept, item.assertion) for concept in item.concepts)))
    date = date_field(collection)
    if not date and (item.since or item.until or item.within_days is not None):
        raise InvalidInput(f"the documents of {collection.name!r} have no date", field="since")
    if item.since or item.until:
        filters.append(Range(date, item.since, item.until))
    forms = tuple((phrase,) for phrase in wanted_phrases(item.words))
    return DocumentCriterion(tuple(filters), forms, item.within_days, item.of)


def contradictions(definition: CohortDefinition, lexicon: ConceptLexicon | None) -> Iterator[str]:
    """For each criterion that nobody may meet but everybody must: a note that the cohort is empty because of it."""
    for barred in definition.none:
        for asked in definition.all:
            if _follows(barred, asked, lexicon):
                yield (
                    f"“{_name(asked)}” is asked for, and “{_name(barred)}” is excluded, which everyone with it has: no "
                    "patient can meet both"
                )
    if definition.any and all(
        any(_follows(barred, asked, lexicon) for barred in definition.none) for asked in definition.any
    ):
        yield "everything that patients must have one of is excluded, too: no patient can meet both"


def _follows(one: CohortCriterion, other: CohortCriterion, lexicon: ConceptLexicon | None) -> bool:
    """Whether every document that meets `other` meets `one`, as far as their concepts and equal conditions tell."""
    plain = CohortCriterion()
    if _without_concept(one) not in (plain, _without_concept(other)):
        return False
    if not one.concepts or not other.concepts or lexicon is None:
        return (one.concepts, one.assertion) == (other.concepts, other.assertion)
    keys = {assertion_key(concept, one.assertion) for concept in one.concepts}
    return not any(keys.isdisjoint(wider_keys(lexicon, concept, other.assertion)) for concept in other.concepts)


def _without_concept(item: CohortCriterion) -> CohortCriterion:
    return replace(item, typed="", concept="", bundle=None, assertion=CohortCriterion().assertion)


def _name(item: CohortCriterion) -> str:
    return item.typed or item.concept or item.words
