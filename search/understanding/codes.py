"""Codes in the slots of a query stand for the names of their concepts, as CDV (section 1) takes terms by UMLS or ICD-10."""

from __future__ import annotations

from dataclasses import replace

from mappings.clinical.reading import ConceptReader
from mappings.documents import clean
from search.query import Query, stated_finding


def spell_codes(query: Query, reader: ConceptReader) -> tuple[Query, tuple[str, ...]]:
    """The query with names in place of codes in `entity`, `having` and `lacking`, and notes that say so.

    A slot that is more than a code stays as it is, and so does a code that no concept has, or several.
    """
    names: dict[str, str] = {}

    def spell(text: str) -> str:
        stated, typed = stated_finding(text)
        found = reader.lexicon.coded(clean(typed))
        if found is None:
            return text
        names[typed] = found.name
        return f"{stated}:{found.name}" if stated else found.name

    entity = spell(query.entity.strip()) if query.entity.strip() else query.entity
    spelled = replace(
        query, entity=entity, having=tuple(map(spell, query.having)), lacking=tuple(map(spell, query.lacking))
    )
    return spelled, tuple(f"“{typed}” is a code of {name}" for typed, name in names.items())
