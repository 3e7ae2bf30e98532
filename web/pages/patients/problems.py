"""What the documents of a patient say of each concept: since when, until when, how often, and in which sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import urlencode

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.collection import Collection
from mappings.documents import Document
from search.pipeline.results import Span
from web.pages.assertions import SAYS
from web.pages.formatting import Segments, format_value, segments
from web.pages.patients.record import date_of

_FIRST: Final = ("present", "historical", "uncertain", "hypothetical", "family", "ruled-out")
"""In a group, concepts that are present stand before those that are past, and so on."""

GROUPS: Final[Mapping[str, str]] = {
    "diagnoses": "Diagnoses",
    "symptoms": "Symptoms",
    "findings": "Findings",
    "drugs": "Drugs",
    "drug-classes": "Drug classes",
    "procedures": "Procedures",
    "devices": "Devices",
    "laboratory": "Laboratory",
    "vitals": "Vital signs",
}
"""The groups of the lexicon in the order of the page; those of a user's own files follow."""


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """What documents say of one concept: `assertion` as style, `says` in words, `first` and `last` as dates in words.

    `pieces` is a sentence that says so, of the newest document that does; `link` leads to it.
    """

    assertion: str
    says: str
    first: str
    last: str
    documents: int
    heading: str
    pieces: Segments
    link: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A concept with what is said of it."""

    name: str
    statements: tuple[DatedStatement, ...]


@dataclass(frozen=True, slots=True)
class ProblemGroup:
    """The concepts of a group of the lexicon: the present ones first, then the most recently mentioned; `more` are not shown."""

    key: str
    title: str
    problems: tuple[Problem, ...]
    more: int


class _Place(NamedTuple):
    document: Document
    day: date | None
    mention: ConceptMention
    number: int


class Problems:
    """The statements of some documents, the newest first."""

    def __init__(self, documents: Iterable[Document], collection: Collection, reader: ConceptReader) -> None:
        self._collection = collection
        self._lexicon: ConceptLexicon = reader.lexicon
        self._places: dict[str, dict[str, list[_Place]]] = defaultdict(lambda: defaultdict(list))
        for document in documents:
            day = date_of(document, collection)
            for number, item in enumerate(reader.read(document).mentions, 1):
                self._places[item.concept][item.assertion].append(_Place(document, day, item, number))

    @property
    def counts(self) -> list[tuple[str, int]]:
        """(assertion, of how many concepts the documents make it), for those that they make."""
        counted = [(name, sum(name in said for said in self._places.values())) for name in SAYS]
        return [pair for pair in counted if pair[1]]

    def groups(self, says: Sequence[str], whole: str, at_most: int) -> list[ProblemGroup]:
        """The concepts by group; of each group the first `at_most`, or all if it is `whole`.

        With `says`, only those of which the documents make one of these assertions.
        """
        found: dict[str, list[str]] = defaultdict(list)
        for concept, said in self._places.items():
            if not says or any(name in said for name in says):
                found[self._lexicon.get(concept).group].append(concept)
        order = [*GROUPS, *(name for name in found if name not in GROUPS)]
        return [
            self._group(name, found[name], says, len(found[name]) if name == whole else at_most)
            for name in order
            if name in found
        ]

    def _group(self, name: str, concepts: list[str], says: Sequence[str], at_most: int) -> ProblemGroup:
        # Documents come newest first, so concepts are met in the order of their last mention.
        concepts.sort(key=lambda concept: min(map(_FIRST.index, self._places[concept])))
        shown = [self._problem(concept, says) for concept in concepts[:at_most]]
        return ProblemGroup(name, GROUPS.get(name, name.capitalize()), tuple(shown), max(0, len(concepts) - at_most))

    def _problem(self, concept: str, says: Sequence[str]) -> Problem:
        said = self._places[concept]
        statements = [self._statement(name, said[name]) for name in SAYS if name in said and (not says or name in says)]
        return Problem(self._lexicon.get(concept).name, tuple(statements))

    def _statement(self, assertion: str, places: Sequence[_Place]) -> DatedStatement:
        newest, item = places[0], places[0].mention
        section = newest.document.sections[item.section]
        days = [place.day for place in places if place.day]
        sentence = section.text[item.sentence_start : item.sentence_end]
        mark = Span(item.start - item.sentence_start, item.end - item.sentence_start)
        return DatedStatement(
            assertion=assertion,
            says=SAYS[assertion],
            first=format_value(min(days)) if days else "",
            last=format_value(max(days)) if days else "",
            documents=len({place.document.id for place in places}),
            heading=section.heading,
            pieces=segments(sentence, [mark]),
            link=document_link(newest.document, self._collection, f"#m-{newest.number}"),
        )


def document_link(document: Document, collection: Collection, anchor: str = "") -> str:
    """The address of a document's page."""
    return f"/document?{urlencode([('collection', collection.name), ('id', document.id)])}{anchor}"
