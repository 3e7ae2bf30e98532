"""What a query asks documents to assert: read from `with`, `without` and from free text, by the reading of documents itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.placing import NARROWER_RULED_OUT, RULED_OUT, assertion_key, wider_keys
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.fields import ASSERTED
from search.query import NOT_PRESENT, PROVES, Filter, NoneOf, Query, Terms, stated_finding

PRESENT: Final = "present"
UNCERTAIN: Final = "uncertain"
MAX_READ_WORDS: Final = 16
"""A text with more words is a sentence out of a document, or a question: its words are searched as they are."""

PROOF_WEIGHT: Final = 20.0
"""What a passage that proves a criterion gets beside its BM25 score: more than the words of a criterion add up to."""

Wanted = Assertion | Literal["not-present"]
_RULING_OUT: Final = (RULED_OUT, NARROWER_RULED_OUT)
_FROM_TEXT: Final = frozenset([RULED_OUT, "family", "historical"])


@dataclass(frozen=True, slots=True)
class Criterion:
    """That a document asserts something of a concept; `not-present`: that it does not say that it is present.

    A document that suspects what is to be present is an answer too, after those that are sure; and after those that rule a
    concept out, one that rules out a narrower one.
    `typed` is how the query names it, in its slot `source`: `with`, `without` or `text`.
    """

    typed: str
    concept: str
    name: str
    assertion: Wanted
    source: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of what proves it, the surest first; that a concept is not present is proven by its being ruled out."""
        proving = {PRESENT: (PRESENT, UNCERTAIN), RULED_OUT: _RULING_OUT, NOT_PRESENT: _RULING_OUT}
        return tuple(assertion_key(self.concept, item) for item in proving.get(self.assertion, (self.assertion,)))

    @property
    def filter(self) -> Filter:
        """What a document must have in the index."""
        if self.assertion == NOT_PRESENT:
            return NoneOf(ASSERTED, (assertion_key(self.concept, PRESENT),))
        return Terms(ASSERTED, self.keys)

    @property
    def keywords(self) -> tuple[tuple[str, str, float], ...]:
        """What lets the passages that prove it rank first."""
        return tuple((PROVES, key, PROOF_WEIGHT / place) for place, key in enumerate(self.keys, 1))

    def doubt(self, concept: str, assertion: str, lexicon: ConceptLexicon) -> int | None:
        """How surely a mention of the concept, or of another from which it follows, proves it: 0 is sure; None: not at all."""
        stated = frozenset(wider_keys(lexicon, concept, assertion))
        return next((place for place, key in enumerate(self.keys) if key in stated), None)


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """The criteria of a query, the texts of its slots that name no concept, and what is to be said about it."""

    criteria: tuple[Criterion, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_query(query: Query, free: str, reader: ConceptReader, reads_text: bool) -> ReadQuery:
    """What `query` asks documents to assert; its free text is `free`, and read if `reads_text`."""
    criteria: list[Criterion] = []
    unknown: list[str] = []
    for source, texts in (("with", query.having), ("without", query.lacking)):
        for text in texts:
            named = list(_of_slot(text, source, query.absence, reader))
            criteria += named
            unknown += [] if named else [text]
    if reads_text and not query.plain:
        criteria += _of_text(free, query.absence, reader)
    kept: dict[tuple[str, str], Criterion] = {}
    for item in criteria:  # what a slot asks for is not asked for again by the text
        kept.setdefault((item.concept, item.assertion), item)
    found = tuple(kept.values())
    return ReadQuery(found, tuple(unknown), tuple(_notes(found, unknown)))


def _of_slot(text: str, source: str, absence: Wanted, reader: ConceptReader) -> Iterator[Criterion]:
    """The criteria of one `with` or `without`; none where it names no concept that we know."""
    stated, name = stated_finding(text) if source == "with" else ("", text)
    wanted = cast("Wanted", absence if source == "without" else stated)
    named = reader.lexicon.named(name)
    if named:
        yield Criterion(name, named.id, named.name, wanted or PRESENT, source)
        return
    for item in _mentions(name, reader):
        yield _criterion(name[item.start : item.end], item, wanted or item.assertion, source, reader.lexicon)


def _of_text(free: str, absence: Wanted, reader: ConceptReader) -> list[Criterion]:
    """The criteria of a free text that says of something that it is absent, past, or a relative's; none of any other."""
    if len(free.split()) > MAX_READ_WORDS or free.rstrip().endswith("?"):
        return []
    mentions = _mentions(free, reader)
    if not any(item.assertion in _FROM_TEXT for item in mentions):
        return []
    stated = [item for item in mentions if item.assertion in _FROM_TEXT or item.assertion == PRESENT]
    # Of a text that only rules out, nearly every document is an answer unless it has to say so.
    negative: Wanted = absence if any(item.assertion != RULED_OUT for item in stated) else RULED_OUT
    return [
        _criterion(
            free[item.start : item.end],
            item,
            negative if item.assertion == RULED_OUT else item.assertion,
            "text",
            reader.lexicon,
        )
        for item in stated
    ]


def _mentions(text: str, reader: ConceptReader) -> Sequence[ConceptMention]:
    return reader.read_alone(text)


def _criterion(typed: str, item: ConceptMention, assertion: Wanted, source: str, lexicon: ConceptLexicon) -> Criterion:
    return Criterion(typed, item.concept, lexicon.get(item.concept).name, assertion, source)


def _notes(criteria: Sequence[Criterion], unknown: Iterable[str]) -> Iterator[str]:
    for text in unknown:
        yield f"“{text}” names no concept of the lexicon: it was searched as words"
    for item in criteria:
        if item.assertion == PRESENT and any(
            other.concept == item.concept and other.assertion == NOT_PRESENT for other in criteria
        ):
            yield f"“{item.name}” is asked for both with and without: no document can be both"
