"""The one reading of a document: which concepts each of its sentences mentions, and what it asserts of them.

Reports repeat their sentences, so what was read of a sentence is kept, by its text and its section's heading.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from mappings.analysis.sentences import MAX_CHARACTERS, sentences
from mappings.clinical.assertion import assertion
from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.mentions import ConceptFinder, FoundName, decide
from mappings.documents import Document, Section, Sentence

READING_VERSION: Final = "reading-3"
"""It changes if the same document would give other mentions or assertions; reports name it."""

KEPT_SENTENCES: Final = 20_000


class ConceptMention(NamedTuple):
    """A mention of the concept with the id `concept`, at the characters `start:end` of the text of a section.

    `section` is the section's number, from 0; `sentence_start:sentence_end` is the sentence in the same text.
    """

    concept: str
    start: int
    end: int
    section: int
    sentence_start: int
    sentence_end: int
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """The mentions of a document in order, and the version of the rules that found them."""

    mentions: tuple[ConceptMention, ...]
    version: str = READING_VERSION


class _Read(NamedTuple):
    """A mention in a sentence, before the context decides on ambiguous abbreviations; offsets in the sentence."""

    found: FoundName
    assertion: Assertion


class _Placed(NamedTuple):
    section: int
    sentence: Sentence
    item: _Read


class ConceptReader:
    """Reads documents by one lexicon. It can be shared by threads."""

    def __init__(self, lexicon: ConceptLexicon) -> None:
        self.lexicon = lexicon
        self._finder = ConceptFinder(lexicon)
        self._sentence = lru_cache(KEPT_SENTENCES)(self._read_sentence)

    @property
    def version(self) -> str:
        """The version of the rules and of the lexicon, as an index notes it."""
        return f"{READING_VERSION}+{self.lexicon.fingerprint}"

    def read(self, document: Document | Sequence[Section]) -> DocumentReading:
        """The reading of a document's sections, or of sections that belong to no document."""
        sections = document.sections if isinstance(document, Document) else document
        placed = [item for number, section in enumerate(sections) for item in self._section(number, section)]
        if any(item.item.found.ambiguous for item in placed):
            placed = list(self._decided(sections, placed))
        return DocumentReading(tuple(map(_mention, placed)))

    def read_alone(self, text: str) -> tuple[ConceptMention, ...]:
        """The mentions of a text that has no context, such as a query.

        An ambiguous abbreviation means its concept if the lexicon has only one of that abbreviation; others are left open.
        """
        section = Section("", text)
        placed = [item for item in self._section(0, section) if len(item.item.found.concepts) == 1]
        return tuple(
            _mention(
                item._replace(item=self._chosen(section, item, item.item.found.concepts[0]))
                if item.item.found.ambiguous
                else item
            )
            for item in placed
        )

    def _section(self, number: int, section: Section) -> Iterator[_Placed]:
        text, heading = section.text, section.heading
        for sentence in _whole_sentences(text):
            for item in self._sentence(text[sentence.start : sentence.end], heading):
                yield _Placed(number, sentence, item)

    def _read_sentence(self, sentence: str, heading: str) -> tuple[_Read, ...]:
        return tuple(
            _Read(item, assertion(sentence, item.start, item.end, heading, self._called(item)))
            for item in self._finder.find(sentence)
        )

    def _called(self, item: FoundName) -> str:
        return "" if item.ambiguous else self.lexicon.get(item.concepts[0]).name

    def _group(self, concept: str) -> str:
        return self.lexicon.get(concept).group

    def _decided(self, sections: Sequence[Section], placed: Sequence[_Placed]) -> Iterator[_Placed]:
        """`placed` without the abbreviations that the context leaves open, the others with their one concept."""
        sure: set[str] = set()
        near: dict[int, set[str]] = defaultdict(set)
        for item in placed:
            if not item.item.found.ambiguous:
                concept = item.item.found.concepts[0]
                sure.add(concept)
                near[item.section].add(self._group(concept))
        for item in placed:
            found = item.item.found
            chosen = decide(found, sure, near[item.section], self._group)
            if chosen and found.ambiguous:
                yield item._replace(item=self._chosen(sections[item.section], item, chosen))
            elif chosen:
                yield item

    def _chosen(self, section: Section, item: _Placed, concept: str) -> _Read:
        """An abbreviation as the one `concept`, whose name tells whether it is chronic."""
        start, end = item.item.found.start, item.item.found.end
        sentence = section.text[item.sentence.start : item.sentence.end]
        asserted = assertion(sentence, start, end, section.heading, self.lexicon.get(concept).name)
        return _Read(FoundName(start, end, (concept,)), asserted)


def assertion_in(text: str, start: int, end: int, heading: str = "") -> Assertion:
    """What `text`, under `heading`, asserts of the mention `start:end`, by the sentence that contains it.

    Raises `ValueError` for a mention that is not inside the text.
    """
    if not 0 <= start < end <= len(text):
        raise ValueError(f"the mention {start}:{end} is not inside a text of {len(text)} characters")
    for sentence in _whole_sentences(text):
        if sentence.start <= start < sentence.end:
            last = max(sentence.end, end)
            return assertion(text[sentence.start : last], start - sentence.start, end - sentence.start, heading)
    return assertion(text, start, end, heading)


def _mention(placed: _Placed) -> ConceptMention:
    (found, asserted), sentence = placed.item, placed.sentence
    start = sentence.start
    return ConceptMention(
        found.concepts[0],
        start + found.start,
        start + found.end,
        placed.section,
        start,
        sentence.end,
        asserted,
    )


def _whole_sentences(text: str) -> list[Sentence]:
    """The sentences of `text`; a question mark that stands alone opens the next one: "? Pneumonia"."""
    found = sentences(text)
    if "?" not in text:
        return found
    joined: list[Sentence] = []
    for item in found:
        if joined and _asks(text, joined[-1]) and item.end - joined[-1].start <= MAX_CHARACTERS:
            joined[-1] = Sentence(joined[-1].start, item.end)
        else:
            joined.append(item)
    return joined


def _asks(text: str, sentence: Sentence) -> bool:
    """Whether a sentence ends with a question mark that stands alone."""
    mark = text[max(sentence.start, sentence.end - 3) : sentence.end]
    return mark in ("?", "??") or mark.endswith((" ?", " ??"))
