"""The one reading of a document: which concepts each of its sentences mentions, and what it asserts of them.

Reports repeat their sentences, so what was read of a sentence is kept, by its text and its section's heading.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple, cast

from mappings.analysis.mentions.denied import denied
from mappings.analysis.mentions.short_forms import ShortForms, shipped_senses
from mappings.analysis.sentences import MAX_CHARACTERS, sentences
from mappings.clinical.answers import ANSWER
from mappings.clinical.assertion import assertion
from mappings.clinical.concepts import ConceptLexicon, shipped_concepts
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.mentions import ConceptFinder, FoundName, decide
from mappings.documents import Document, Section, Sentence
from mappings.errors import InvalidInput
from mappings.garbage import exempt_loaded_objects

READING_VERSION: Final = "reading-8"
"""It changes if the same document would give other mentions or assertions; reports name it."""

KEPT_SENTENCES: Final = 20_000
_NO: Final = re.compile(r"[Nn]o\.\s+(?=\w)")


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
    """A mention in a sentence, with offsets in it; nothing is asserted of what it leaves to the context to decide.

    `usual` is the concept that an ambiguous abbreviation usually means, "" where that is none, and None where none is usual.
    """

    found: FoundName
    assertion: Assertion | None
    usual: str | None = None


_Placed = tuple[int, Sentence, _Read]
"""The number of a section, a sentence of it, and what was read there."""


class ConceptReader:
    """Reads documents by one lexicon. It can be shared by threads."""

    def __init__(self, lexicon: ConceptLexicon) -> None:
        self.lexicon = lexicon
        self._short = ShortForms(shipped_senses(), lexicon)
        self._finder = ConceptFinder(lexicon, self._short)
        self._sentence = lru_cache(KEPT_SENTENCES)(self._read_sentence)

    @property
    def version(self) -> str:
        """The version of the rules and of the lexicon, as an index notes it."""
        return f"{READING_VERSION}+{self.lexicon.fingerprint}"

    def read(self, document: Document | Sequence[Section]) -> DocumentReading:
        """The reading of a document's sections, or of sections that belong to no document.

        Mentions that came with the document are taken instead. Raises `InvalidInput` for one of an unknown concept.
        """
        if isinstance(document, Document) and document.tagged is not None:
            return DocumentReading(tuple(self._tagged(document)))
        sections = document.sections if isinstance(document, Document) else document
        placed = [item for number, section in enumerate(sections) for item in self._section(number, section)]
        sure, near = self._context(placed) if any(read.assertion is None for _, _, read in placed) else (set(), {})
        found: list[ConceptMention] = []
        for number, sentence, (item, asserted, usual) in placed:
            concept, first, last = item.concepts[0], sentence.start, sentence.end
            if asserted is None:
                concept = decide(item, sure, near.get(number, ()), self._group, usual)
                if not concept:
                    continue
                section = sections[number]
                asserted = self._asserted(section.text[first:last], section.heading, item, concept)
            found.append(ConceptMention(concept, first + item.start, first + item.end, number, first, last, asserted))
        return DocumentReading(tuple(found))

    def _tagged(self, document: Document) -> Iterator[ConceptMention]:
        spans = {number: _whole_sentences(document.sections[number].text) for number, *_ in document.tagged or ()}
        for place, item in enumerate(sorted(document.tagged or (), key=lambda item: item[:3])):
            if item.concept not in self.lexicon:
                raise InvalidInput(
                    f"mentions name the concept {item.concept[:80]!r}, which is in no lexicon: add it to your own",
                    field=f"mentions[{place}].concept",
                )
            around = (span for span in spans[item.section] if span.start <= item.start < span.end)
            sentence = next(around, Sentence(item.start, item.end))
            yield ConceptMention(
                item.concept,
                item.start,
                item.end,
                item.section,
                sentence.start,
                sentence.end,
                cast(Assertion, item.assertion),
            )

    def read_alone(self, text: str) -> tuple[ConceptMention, ...]:
        """The mentions of a text that has no context, such as a query.

        An ambiguous abbreviation means what its words tell, what it usually means, or its concept if the lexicon has only one
        of that abbreviation; others are left open. A query for "afebrile" does not ask for "no fever" as well.
        """
        found: list[ConceptMention] = []
        last_start = -1
        for number, sentence, (item, asserted, usual) in self._section(0, Section("", text)):
            start = sentence.start + item.start
            if start == last_start or (not usual and (len(item.concepts) > 1 or usual == "")):
                continue
            last_start = start
            concept, first, last = usual or item.concepts[0], sentence.start, sentence.end
            asserted = asserted or self._asserted(text[first:last], "", item, concept)
            found.append(ConceptMention(concept, first + item.start, first + item.end, number, first, last, asserted))
        return tuple(found)

    def _section(self, number: int, section: Section) -> list[_Placed]:
        text, heading = section.text, section.heading
        return [
            (number, sentence, item)
            for sentence in _whole_sentences(text)
            for item in self._sentence(text[sentence.start : sentence.end], heading)
        ]

    def _read_sentence(self, sentence: str, heading: str) -> tuple[_Read, ...]:
        found: list[_Read] = []
        for item in self._finder.find(sentence):
            sense = self._short.sense(sentence, item.start, item.end, heading) if item.ambiguous else None
            if sense and sense.usual and len(sense.concepts) < 2:
                found.append(_Read(item, None, "".join(sense.concepts)))
            elif item.ambiguous and not sense:
                found.append(_Read(item, None))
            else:
                settled = item.named(sense.concepts, sentence) if sense else (item,)
                found += (each for one in settled for each in self._settled(sentence, heading, one))
        return tuple(found)

    def _settled(self, sentence: str, heading: str, item: FoundName) -> Iterator[_Read]:
        """The mention, and what it rules out by its name, where it is present."""
        concept = item.concepts[0]
        asserted = self._asserted(sentence, heading, item, concept)
        yield _Read(item, asserted)
        for other in denied().get(concept, ()) if asserted == "present" else ():
            if other in self.lexicon:
                yield _Read(FoundName(item.start, item.end, (other,)), "ruled-out")

    def _asserted(self, sentence: str, heading: str, item: FoundName, concept: str) -> Assertion:
        """What a sentence asserts of a mention of `concept`, whose name tells whether it is chronic."""
        return assertion(sentence, item.start, item.end, heading, self.lexicon.get(concept).name)

    def _group(self, concept: str) -> str:
        return self.lexicon.get(concept).group

    def _context(self, placed: Sequence[_Placed]) -> tuple[set[str], Mapping[int, set[str]]]:
        """The concepts that a document names in full, and the groups of those of each section."""
        sure: set[str] = set()
        near: dict[int, set[str]] = defaultdict(set)
        for number, _, (item, asserted, _usual) in placed:
            if asserted is not None:
                sure.add(item.concepts[0])
                near[number].add(self._group(item.concepts[0]))
        return sure, near


@cache
def shipped_reader() -> ConceptReader:
    """The reader by the concepts that Medley comes with, one for the process: making it takes half a second."""
    return prepared_reader(shipped_concepts())


def prepared_reader(lexicon: ConceptLexicon) -> ConceptReader:
    """A reader whose lexicon and rules are loaded already, for a process to keep.

    What was loaded, like everything else in memory by then, is exempt from garbage collection, which took a tenth of the
    time of reading.
    """
    reader = ConceptReader(lexicon)
    reader.read_alone("no fever")
    exempt_loaded_objects()
    return reader


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


def _whole_sentences(text: str) -> list[Sentence]:
    """The sentences of `text`; a question mark that stands alone opens the next one: "? Pneumonia".

    A short answer belongs to its question: "Chest pain? No."
    """
    found = sentences(text)
    if "?" not in text:
        return found
    joined: list[Sentence] = []
    for item in found:
        answer = _NO.match(text, item.start, item.end) if joined and text[joined[-1].end - 1] == "?" else None
        if answer:  # "No." also begins a number, so that sentences do not end there.
            joined[-1] = Sentence(joined[-1].start, answer.start() + len("No."))
            item = Sentence(answer.end(), item.end)
        if (
            joined
            and (_asks(text, joined[-1]) or _answers(text, joined[-1], item))
            and item.end - joined[-1].start <= MAX_CHARACTERS
        ):
            joined[-1] = Sentence(joined[-1].start, item.end)
        else:
            joined.append(item)
    return joined


def _answers(text: str, question: Sentence, item: Sentence) -> bool:
    """Whether a sentence is nothing but the answer to the one before it."""
    return text[question.end - 1] == "?" and ANSWER.fullmatch(text, item.start, item.end) is not None


def _asks(text: str, sentence: Sentence) -> bool:
    """Whether a sentence ends with a question mark that stands alone."""
    mark = text[max(sentence.start, sentence.end - 3) : sentence.end]
    return mark in ("?", "??") or mark.endswith((" ?", " ??"))
