"""The excerpt of an abstract that models read: all of it, or where its claims are likely to be (CLAIMS, section 3.1).

`whole`: everything. `A`: background and conclusion, if the abstract has labelled sections, else everything. `B`: as A,
but of an abstract without labels the first and the last three sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from mappings.analysis.headings import normalise_heading
from mappings.analysis.sentences import sentences
from mappings.documents import Document, Section

AbstractExcerpt = Literal["whole", "A", "B"]
EXCERPTS: Final[tuple[AbstractExcerpt, ...]] = get_args(AbstractExcerpt)

_KEPT_SECTIONS: Final = frozenset({"background", "conclusion"})
_SENTENCES_PER_END: Final = 3


def excerpt(document: Document, which: AbstractExcerpt) -> Document:
    """The document with the title and the excerpt of its sections; whole if that would be empty."""
    if which == "whole":
        return document
    if any(section.heading for section in document.sections):
        kept = tuple(section for section in document.sections if normalise_heading(section.heading) in _KEPT_SECTIONS)
        return replace(document, sections=kept) if any(section.text.strip() for section in kept) else document
    return replace(document, sections=_ends(document.sections)) if which == "B" else document


def _ends(sections: Sequence[Section]) -> tuple[Section, ...]:
    text = " ".join(section.text for section in sections)
    found = [text[item.start : item.end] for item in sentences(text)]
    if len(found) <= 2 * _SENTENCES_PER_END:
        return tuple(sections)
    return (Section("", " ".join((*found[:_SENTENCES_PER_END], *found[-_SENTENCES_PER_END:]))),)
