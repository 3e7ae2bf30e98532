"""What a document says of the concepts that it mentions, as its page marks and lists it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.reading import ConceptMention, ConceptReader
from search.storage import StoredDocument
from web.pages.assertions import SAYS

OFF: Final = ("findings", "off")
PARAMETERS: Final = ("collection", "id", "passage", "mark")
"""The parameters of a document's address that its switch keeps."""


@dataclass(frozen=True, slots=True)
class FindingMark:
    """A mention of a concept in the section number `section`, from 0; `anchor` is its place in the page."""

    concept: str
    name: str
    assertion: str
    says: str
    section: int
    start: int
    end: int
    anchor: str


MarkedPiece = tuple[str, FindingMark | None]
"""A piece of a text, and what is found in it."""


@dataclass(frozen=True, slots=True)
class StatedConcept:
    """A concept of which a document says the same at one or several places."""

    name: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An assertion of a document: how many mentions have it, and of which concepts."""

    assertion: str
    says: str
    count: int
    concepts: tuple[StatedConcept, ...]


class DocumentFindings:
    """The findings of one document. With `findings=off` in the address, they are listed and not marked.

    Of a `private` collection, no address holds the way back to a search.
    """

    def __init__(
        self, stored: StoredDocument, reader: ConceptReader, arguments: MultiDict[str, str], private: bool = False
    ) -> None:
        assert stored.document  # noqa: S101 - a tombstone is never shown
        self.all = findings_of(reader.read(stored.document).mentions, reader.lexicon)
        kept = PARAMETERS if private else (*PARAMETERS, "back")
        self._pairs = [pair for pair in arguments.items(multi=True) if pair[0] in kept]
        self.off = OFF in arguments.items(multi=True)

    @property
    def switch(self) -> str:
        """The address of the same page with the marks, or without."""
        return "/document?" + urlencode(self._pairs if self.off else [*self._pairs, OFF])

    @property
    def legend(self) -> list[LegendEntry]:
        """What the document says, by assertion: those that it makes, in the usual order."""
        return [
            LegendEntry(assertion, says, len(found), _stated(found))
            for assertion, says in SAYS.items()
            if (found := [item for item in self.all if item.assertion == assertion])
        ]

    def of_section(self, number: int) -> Sequence[FindingMark]:
        """The findings to mark in a section, from 0."""
        return () if self.off else [item for item in self.all if item.section == number]


def findings_of(mentions: Sequence[ConceptMention], lexicon: ConceptLexicon) -> list[FindingMark]:
    """The mentions of a document's reading; the anchors count them from 1, so that other pages can link to them."""
    return [
        FindingMark(
            concept=item.concept,
            name=lexicon.get(item.concept).name,
            assertion=item.assertion,
            says=SAYS[item.assertion],
            section=item.section,
            start=item.start,
            end=item.end,
            anchor=f"m-{number}",
        )
        for number, item in enumerate(mentions, 1)
    ]


def finding_pieces(text: str, start: int, end: int, findings: Sequence[FindingMark]) -> list[MarkedPiece]:
    """`text[start:end]` cut at the findings; of those that overlap the first counts, and one cut in two has one anchor."""
    pieces: list[MarkedPiece] = []
    at = start
    for item in findings:
        first, last = max(at, item.start), min(end, item.end)
        if first < last and (item.start >= at or at == start):
            kept = item if item.start >= start else replace(item, anchor="")
            pieces += [(text[at:first], None), (text[first:last], kept)]
            at = last
    return [piece for piece in (*pieces, (text[at:end], None)) if piece[0]]


def _stated(found: Sequence[FindingMark]) -> tuple[StatedConcept, ...]:
    """The concepts of the findings by name, each with its places."""
    places: Mapping[str, list[str]] = defaultdict(list)
    for item in found:
        places[item.name].append(item.anchor)
    return tuple(StatedConcept(name, tuple(places[name])) for name in sorted(places, key=str.casefold))
