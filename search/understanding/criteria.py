"""What a query asks documents to assert: read from `with`, `without` and from free text, by the reading of documents itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, cast

from mappings.bundles import TermBundle
from mappings.clinical.concepts import ClinicalConcept, ConceptLexicon
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.placing import FOUND, NARROWER_RULED_OUT, PRESENT, RULED_OUT, assertion_key, wider_keys
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.errors import InvalidInput
from mappings.fields import ASSERTED
from search.query import NOT_PRESENT, PROVES, Filter, NoneOf, Query, Terms, stated_finding
from search.understanding.preferences import NamedConcept, about_patients, named_alone

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

MAX_BUNDLED: Final = 120
"""Most concepts of all bundles of a search: each adds up to four clauses beside those of the words, of 1,024 that Lucene allows."""

Wanted = Assertion | Literal["not-present"]
_FROM_TEXT: Final = frozenset([RULED_OUT, "family", "historical"])


@dataclass(frozen=True)
class Criterion:
    """That a document asserts something of a concept; `not-present`: that it does not say that it is present.

    A document that suspects what is to be present is an answer too, after those that are sure; and after those that rule a
    concept out, one that rules out a narrower one. What is `done`, such as an operation, is there if it was done at any time.
    `typed` is how the query names it, in its slot `source`: `with`, `without` or `text`. With a `bundle`, `concept` is "" and
    a document asserts it of any of its concepts, or says of none that it is present; `done` are those of them that are.
    """

    typed: str
    concept: str
    name: str
    assertion: Wanted
    source: str
    done: frozenset[str] = frozenset()
    bundle: TermBundle | None = None

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts of which one is asked for."""
        return self.bundle.concepts if self.bundle else (self.concept,)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of what proves it, the surest first; that a concept is not present is proven by its being ruled out."""
        return (*self._sure, *self._doubtful)

    @property
    def filter(self) -> Filter:
        """What a document must have in the index."""
        if self.assertion == NOT_PRESENT:
            return NoneOf(ASSERTED, self._there)
        return Terms(ASSERTED, self.keys)

    @property
    def keywords(self) -> tuple[tuple[str, str, float], ...]:
        """What lets the passages that prove it rank first."""
        found = self._keyed(FOUND) if self.assertion == PRESENT else ()
        weights = ((self._sure, PROOF_WEIGHT), (found, FOUND_WEIGHT), (self._doubtful, DOUBTFUL_WEIGHT))
        return tuple((PROVES, key, weight) for keys, weight in weights for key in keys)

    def doubt(self, concept: str, assertion: str, lexicon: ConceptLexicon) -> int | None:
        """How surely a mention of the concept, or of another from which it follows, proves it: 0 is sure; None: not at all."""
        stated = wider_keys(lexicon, concept, assertion)
        return min((self._doubts[key] for key in stated if key in self._doubts), default=None)

    def denies(self, said: Iterable[tuple[str, str]], lexicon: ConceptLexicon) -> bool:
        """Whether mentions (concept, assertion) say the opposite, or leave it open.

        Of a bundle they must do so of each concept of which they prove it: "on apixaban, no warfarin" is on one of the two.
        """
        opposite = {PRESENT: RULED_OUT, RULED_OUT: PRESENT, NOT_PRESENT: PRESENT}.get(self.assertion, "")
        if not opposite:
            return False
        stated = frozenset[str]().union(*(wider_keys(lexicon, *item) for item in said))
        proven = {_concept_of(key) for key in stated.intersection(self._sure)}
        denied = {_concept_of(key) for key in stated.intersection(self._keyed(opposite, UNCERTAIN))}
        return bool(denied) and proven <= denied

    @cached_property
    def _doubts(self) -> Mapping[str, int]:
        """The doubt about each key."""
        return dict.fromkeys(self._doubtful, 1) | dict.fromkeys(self._sure, 0)

    @cached_property
    def _there(self) -> tuple[str, ...]:
        """The keys of what says that the patient has it."""
        past = (assertion_key(concept, HISTORICAL) for concept in self.concepts if concept in self.done)
        return (*self._keyed(PRESENT), *past)

    @cached_property
    def _sure(self) -> tuple[str, ...]:
        if self.assertion == PRESENT:
            return self._there
        return self._keyed(RULED_OUT if self.assertion == NOT_PRESENT else self.assertion)

    @cached_property
    def _doubtful(self) -> tuple[str, ...]:
        narrower = (NARROWER_RULED_OUT,)
        return self._keyed(*{PRESENT: (UNCERTAIN,), RULED_OUT: narrower, NOT_PRESENT: narrower}.get(self.assertion, ()))

    def _keyed(self, *assertions: str) -> tuple[str, ...]:
        return tuple(assertion_key(concept, item) for item in assertions for concept in self.concepts)


def _concept_of(key: str) -> str:
    return key.partition("|")[0]


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """The criteria of a query, the texts of its slots that name no concept, and what is to be said about it.

    `preferences` are what documents should assert to rank first, though none has to.
    """

    criteria: tuple[Criterion, ...] = ()
    preferences: tuple[Criterion, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_query(query: Query, free: str, reader: ConceptReader, reads_text: bool) -> ReadQuery:
    """What `query` asks documents to assert; its free text is `free`, and read if `reads_text`."""
    criteria: list[Criterion] = []
    unknown: list[str] = []
    for source, texts in (("with", query.having), ("without", query.lacking)):
        for text in texts:
            asked = list(_of_slot(text, source, query, reader))
            criteria += asked
            unknown += [] if asked else [text]
    preferred: list[Criterion] = []
    if reads_text and not query.plain:
        text = about_patients(free)
        named = [_of_name(item, reader.lexicon) for item in named_alone(text, reader, sought=text != free)]
        # A family history is also a section: that of a note on the disease can be meant, whatever it says of relatives.
        if len(named) > 1 and named[0].assertion == PRESENT:
            criteria += named
        elif not (query.slots or query.lacking):
            preferred = named
        criteria += [] if named else _of_text(text, query.absence, reader)
    kept: dict[tuple[tuple[str, ...], str], Criterion] = {}
    for item in criteria:  # what a slot asks for is not asked for again by the text
        kept.setdefault((item.concepts, item.assertion), item)
    found = tuple(kept.values())
    _check_size(found)
    return ReadQuery(found, tuple(preferred), tuple(unknown), tuple(_notes(found, unknown)))


def _check_size(criteria: Sequence[Criterion]) -> None:
    total = sum(len(item.concepts) for item in criteria if item.bundle)
    if total > MAX_BUNDLED:
        raise InvalidInput(
            f"the bundles of this search have {total:,} concepts; at most {MAX_BUNDLED:,} are allowed", field="with"
        )


def _of_slot(text: str, source: str, query: Query, reader: ConceptReader) -> Iterator[Criterion]:
    """The criteria of one `with` or `without`; none where it names no concept that we know."""
    stated, name = stated_finding(text) if source == "with" else ("", text)
    wanted = cast("Wanted", query.absence if source == "without" else stated)
    if bundle := query.bundle(name):
        yield _of_bundle(name, bundle, wanted or PRESENT, source, reader.lexicon)
        return
    named = reader.lexicon.named(name)
    if named:
        yield Criterion(name, named.id, named.name, wanted or PRESENT, source, _done([named]))
        return
    for item in _mentions(name, reader):
        yield _criterion(name[item.start : item.end], item, wanted or item.assertion, source, reader.lexicon)


def _of_bundle(typed: str, bundle: TermBundle, wanted: Wanted, source: str, lexicon: ConceptLexicon) -> Criterion:
    try:
        understood = bundle.understood(lexicon)
    except InvalidInput as error:
        raise InvalidInput(error.message, field=source) from None
    done = _done(map(lexicon.get, understood.concepts))
    return Criterion(typed, "", bundle.name, wanted, source, done, understood)


def _of_name(item: NamedConcept, lexicon: ConceptLexicon) -> Criterion:
    named = lexicon.get(item.concept)
    return Criterion(item.typed, named.id, named.name, item.assertion, "text", _done([named]))


def _done(concepts: Iterable[ClinicalConcept]) -> frozenset[str]:
    return frozenset(item.id for item in concepts if item.group == PROCEDURES)


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
    return Criterion(typed, named.id, named.name, assertion, source, _done([named]))


def _notes(criteria: Sequence[Criterion], unknown: Iterable[str]) -> Iterator[str]:
    for text in unknown:
        yield f"“{text}” names no concept of the lexicon: it was searched as words"
    for item in criteria:
        if item.assertion == PRESENT and any(
            set(item.concepts) <= set(other.concepts) and other.assertion == NOT_PRESENT for other in criteria
        ):
            yield f"“{item.name}” is asked for both with and without: no document can be both"
