"""What is read of a publication beside its text: fields that a kind with `studies = true` adds to its documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mappings.collection import Collection
from mappings.documents import Document, FieldValue
from mappings.studies.badges import badges_of
from mappings.studies.sample_size import sample_size

BADGES: Final = "badges"
SAMPLE_SIZE: Final = "sample_size"
NOTICES: Final = "notices"
"""What was published of an article later, such as "Retraction in: Lancet. 2020;395:1820"; its record brings them."""

_PREFIX: Final = re.compile(r"^\W*(?:retracted(?: article)?|withdrawn)\s*[:\].-]\s*", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+")
_LEAST_WORDS: Final = 5
"""Shorter titles ("Letter to the editor") are those of many works."""


def with_study_fields(document: Document, collection: Collection) -> Mapping[str, FieldValue]:
    """The fields of a document, with those that are read of it where it has none of its own."""
    if not collection.studies:
        return document.fields
    found = {name: value for name, value in study_fields(document).items() if name in collection.fields}
    return {**found, **document.fields}


def study_fields(document: Document) -> dict[str, FieldValue]:
    """Badges and the number of people studied, as far as they are known."""
    size = sample_size(" ".join(section.text for section in document.sections))
    found: dict[str, FieldValue | None] = {
        BADGES: badges_of(document) or None,
        SAMPLE_SIZE: None if size is None else float(size),
    }
    return {name: value for name, value in found.items() if value is not None}


def work_of(title: str) -> str | None:
    """The key of a work, the same for a preprint and what was published of it under its title; None for a short title.

    These are the title's words in lower case, without what says that it is retracted.
    """
    words = _WORD.findall(_PREFIX.sub("", title).lower())
    return " ".join(words)[:300] if len(words) >= _LEAST_WORDS else None
