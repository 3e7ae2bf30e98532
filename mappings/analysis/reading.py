"""How much of an abstract an encoder reads: all of it, or where its claims stand (CLAIMS, section 3.1).

`whole`: everything. `A`: of an abstract with labelled sections only background and conclusion. `B`: as A, and of one
without labels only the first and the last three sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from mappings.analysis.headings import normalise_heading
from mappings.analysis.sentences import sentences
from mappings.documents import Document, Section

Reading = Literal["whole", "A", "B"]
READINGS: Final[tuple[Reading, ...]] = get_args(Reading)

_READ: Final = frozenset({"background", "conclusion"})
_SENTENCES: Final = 3


def limited(document: Document, reading: Reading) -> Document:
    """The document with what is read of its sections; its title stays. A labelled one that has neither stays whole."""
    if reading == "whole":
        return document
    if any(section.heading for section in document.sections):
        kept = tuple(section for section in document.sections if normalise_heading(section.heading) in _READ)
        return replace(document, sections=kept) if any(section.text.strip() for section in kept) else document
    return replace(document, sections=_ends(document.sections)) if reading == "B" else document


def _ends(sections: Sequence[Section]) -> tuple[Section, ...]:
    text = " ".join(section.text for section in sections)
    found = [text[item.start : item.end] for item in sentences(text)]
    if len(found) <= 2 * _SENTENCES:
        return tuple(sections)
    return (Section("", " ".join((*found[:_SENTENCES], *found[-_SENTENCES:]))),)
