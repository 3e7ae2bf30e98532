"""The two slots that documents are asked by as a whole: an entity and an aspect of it, as typed or as a text names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mappings.analysis.asked_aspects import find_asked_aspect, name_aspects
from mappings.analysis.headings import level
from mappings.clinical.placing import RULED_OUT
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.documents import clean
from search.query import Query
from search.understanding.aspects import aspects_of
from search.understanding.codes import spell_codes
from search.understanding.model_text import opening

_MAIN: Final = frozenset({"diagnoses", "symptoms"})
"""The groups of concepts that a document is about rather than others; a question on a drug for gout is on gout."""
_NEVER: Final = "vitals"
"""The group of "weight", "height" and "temperature", which mostly mean something else in a question."""
_PLURAL: Final = re.compile(r"(\w{4,})s\b")
_WHAT_IT_IS: Final = re.compile(
    r"\W*(?:what(?:'s| is| are)?|describe|define)[\W_]*(?:\(are\))?[\W_]*(?:an?|the)?\W*", re.IGNORECASE
)
"""What a question consists of, beside the name, that asks what it is."""


class QuerySlots(NamedTuple):
    """An entity and an aspect, as text; "" for one that was neither typed nor named."""

    entity: str = ""
    aspect: str = ""


def read_slots(query: Query, free: str, reader: ConceptReader | None, reads_text: bool = False) -> QuerySlots:
    """The slots of a query; one that is empty is read from its free text `free`, which is clean.

    The entity is a concept that the text names and does not rule out, in the words of the text; without a `reader`, none is
    found. A typed entity that is a code stands for the name of its concept (CDV, section 1). The
    aspect is what the text names or asks for by a verb and, if `reads_text`, the heading that it ends with.
    """
    text = opening(free)
    query = spell_codes(query, reader)[0] if reader else query
    entity = clean(query.entity).strip() or (_named_entity(text, reader) if reader and text else "")
    aspect = clean(query.aspect).strip() or (_heading_at_end(free) if reads_text else "")
    return QuerySlots(entity, aspect or _asked_aspect(text, entity))


def _asked_aspect(text: str, entity: str) -> str:
    """The aspect that a text names, be it in the plural, or asks for; a question for nothing else asks what it is."""
    found = name_aspects(text) or name_aspects(_PLURAL.sub(r"\1", text))
    if found or not entity or not _WHAT_IT_IS.match(text):
        return found or find_asked_aspect(text)
    return find_asked_aspect(text) if _WHAT_IT_IS.fullmatch(text.replace(entity, "")) else ""


def _named_entity(text: str, reader: ConceptReader) -> str:
    """The first disease or symptom that the text names, or else the first concept."""
    named = [item for item in reader.read_alone(text) if item.assertion != RULED_OUT]
    groups = [reader.lexicon.get(item.concept).group for item in named]
    main = [item for item, group in zip(named, groups, strict=True) if group in _MAIN]
    other = [item for item, group in zip(named, groups, strict=True) if group != _NEVER]
    return _first(text, main) or _first(text, other)


def _first(text: str, found: Sequence[ConceptMention]) -> str:
    first = min(found, key=lambda item: item.start, default=None)
    return text[first.start : first.end] if first else ""


def _heading_at_end(free: str) -> str:
    """The longest known heading that the text ends with; what no note has as a heading is none."""
    return next((aspect for aspect in aspects_of(free, "") if level(aspect)), "")
