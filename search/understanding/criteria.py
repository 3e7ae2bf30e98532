"""What a query asks documents to assert: read from `with`, `without` and from free text, by the reading of documents itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.placing import FOUND, NARROWER_RULED_OUT, PRESENT, RULED_OUT, assertion_key, wider_keys
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.fields import ASSERTED
from search.query import NOT_PRESENT, PROVES, Filter, NoneOf, Query, Terms, stated_finding

UNCERTAIN: Final = "uncertain"
HISTORICAL: Final = "historical"
PROCEDURES: Final = "procedures"
"""The group of concepts that a patient has by their having been done: "status post CABG" is with CABG."""
MAX_READ_WORDS: Final = 16
"""A text with more words is a sentence out of a document, or a question: its words are searched as they are."""

PROOF_WEIGHT: Final = 20.0
"""What a passage that proves a criterion gets beside its BM25 score: more than the words of a criterion add up to."""
FOUND_WEIGHT: Final = 10.0
"""What it gets besides if the section that proves it does not only ask."""
DOUBTFUL_WEIGHT: Final = 5.0
"""What a passage gets that proves it less surely."""

Wanted = Assertion | Literal["not-present"]
_FROM_TEXT: Final = frozenset([RULED_OUT, "family", "historical"])


@dataclass(frozen=True, slots=True)
class Criterion:
    """That a document asserts something of a concept; `not-present`: that it does not say that it is present.

    A document that suspects what is to be present is an answer too, after those that are sure; and after those that rule a
    concept out, one that rules out a narrower one. What is `done`, such as an operation, is there if it was done at any time.
    `typed` is how the query names it, in its slot `source`: `with`, `without` or `text`.
    """

    typed: str
    concept: str
    name: str
    assertion: Wanted
    source: str
    done: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of what proves it, the surest first; that a concept is not present is proven by its being ruled out."""
        return self._keyed(*self._sure, *self._doubtful)

    @property
    def filter(self) -> Filter:
        """What a document must have in the index."""
        if self.assertion == NOT_PRESENT:
            return NoneOf(ASSERTED, self._keyed(*self._there))
        return Terms(ASSERTED, self.keys)

    @property
    def keywords(self) -> tuple[tuple[str, str, float], ...]:
        """What lets the passages that prove it rank first."""
        found = (FOUND,) if self.assertion == PRESENT else ()
        weights = ((self._sure, PROOF_WEIGHT), (found, FOUND_WEIGHT), (self._doubtful, DOUBTFUL_WEIGHT))
        return tuple((PROVES, key, weight) for stated, weight in weights for key in self._keyed(*stated))

    def doubt(self, concept: str, assertion: str, lexicon: ConceptLexicon) -> int | None:
        """How surely a mention of the concept, or of another from which it follows, proves it: 0 is sure; None: not at all."""
        stated = frozenset(wider_keys(lexicon, concept, assertion))
        proving = (self._keyed(*self._sure), self._keyed(*self._doubtful))
        return next((place for place, keys in enumerate(proving) if not stated.isdisjoint(keys)), None)

    def denies(self, concept: str, assertion: str, lexicon: ConceptLexicon) -> bool:
        """Whether a mention says the opposite, or leaves it open."""
        opposite = {PRESENT: RULED_OUT, RULED_OUT: PRESENT, NOT_PRESENT: PRESENT}.get(self.assertion, "")
        keys = self._keyed(opposite, UNCERTAIN) if opposite else ()
        return not frozenset(wider_keys(lexicon, concept, assertion)).isdisjoint(keys)

    @property
    def _there(self) -> tuple[str, ...]:
        """What is asserted of something that the patient has."""
        return (PRESENT, HISTORICAL) if self.done else (PRESENT,)

    @property
    def _sure(self) -> tuple[str, ...]:
        return {PRESENT: self._there, NOT_PRESENT: (RULED_OUT,)}.get(self.assertion, (self.assertion,))

    @property
    def _doubtful(self) -> tuple[str, ...]:
        narrower = (NARROWER_RULED_OUT,)
        return {PRESENT: (UNCERTAIN,), RULED_OUT: narrower, NOT_PRESENT: narrower}.get(self.assertion, ())

    def _keyed(self, *assertions: str) -> tuple[str, ...]:
        return tuple(assertion_key(self.concept, item) for item in assertions)


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
        yield Criterion(name, named.id, named.name, wanted or PRESENT, source, named.group == PROCEDURES)
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
    named = lexicon.get(item.concept)
    return Criterion(typed, named.id, named.name, assertion, source, named.group == PROCEDURES)


def _notes(criteria: Sequence[Criterion], unknown: Iterable[str]) -> Iterator[str]:
    for text in unknown:
        yield f"“{text}” names no concept of the lexicon: it was searched as words"
    for item in criteria:
        if item.assertion == PRESENT and any(
            other.concept == item.concept and other.assertion == NOT_PRESENT for other in criteria
        ):
            yield f"“{item.name}” is asked for both with and without: no document can be both"
