"""The sentences that best match a query, with the words in them to mark, and those that prove its criteria."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from mappings.analysis.sentences import sentences
from mappings.analysis.words import places, terms
from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.placing import asks
from mappings.documents import Access, Passage, PassageMention, Sentence
from search.pipeline.results import Evidence, Proof, Span
from search.protocols import SearchEngine
from search.understanding.criteria import Criterion

SENTENCES = 2
"""The most sentences shown per hit."""
DENIED, ASKED, SUSPECTED, NOT_PROVEN = range(4)
"""The kinds of doubts about a criterion, the least first: the passage that states it also denies it or leaves it open; its
section only asks; it does not state it surely; it does not speak of it."""


def marks(text: str, wanted: frozenset[str]) -> tuple[Span, ...]:
    """Where `text` contains one of the `wanted` index terms."""
    return tuple(Span(start, end) for start, end in places(text, wanted))


class ReadPassage(NamedTuple):
    """A text with its sentences and the terms of each, read once."""

    text: str
    sentences: Sequence[Sentence]
    terms: Sequence[Sequence[str]]

    @classmethod
    def of(cls, text: str) -> ReadPassage:
        """The text, read."""
        found = sentences(text)
        return cls(text, found, [terms(text[item.start : item.end]) for item in found])

    def wanted(self, terms_wanted: frozenset[str]) -> set[str]:
        """Which of the wanted terms the text has."""
        # Without space between two sentences their last and first words can be one: "end.Start".
        if any(first.end == second.start for first, second in pairwise(self.sentences)):
            return {*terms_wanted.intersection(terms(self.text))}
        return {term for own in self.terms for term in terms_wanted.intersection(own)}


def rarity(texts: Sequence[ReadPassage], wanted: frozenset[str]) -> dict[str, float]:
    """A weight for each wanted term: the fewer of the `texts` contain it, the higher."""
    counted = Counter(term for text in texts for term in text.wanted(wanted))
    return {term: math.log(1 + len(texts) / (1 + counted[term])) for term in wanted}


def candidates(read: ReadPassage, weights: Mapping[str, float], limit: int) -> list[Evidence]:
    """The `limit` sentences that score best by their distinct wanted terms, best first, nothing marked in them.

    The score is the sum of those terms' weights, divided by the square root of the sentence's length in terms plus 8, so
    that a long sentence does not win by its length alone. Of a text without wanted terms, the first sentences are returned.
    """
    scored = [
        (-_score(own, weights), item.start, item.end) for item, own in zip(read.sentences, read.terms, strict=True)
    ]
    return [Evidence(read.text[start:end], start, end, -score) for score, start, end in sorted(scored)[:limit]]


def _score(words: Sequence[str], weights: Mapping[str, float]) -> float:
    # In the order of the text, so that the sum is the same in every process.
    return sum(weights[term] for term in dict.fromkeys(words) if term in weights) / math.sqrt(8 + len(words))


def with_marks(found: Sequence[Evidence], wanted: frozenset[str]) -> tuple[Evidence, ...]:
    """The sentences with the wanted terms marked in them."""
    return tuple(replace(item, marks=marks(item.text, wanted)) for item in found)


def best(found: Sequence[Evidence], scores: Sequence[float] | None = None) -> tuple[Evidence, ...]:
    """The sentences to show, in the order of the text, by a cross-encoder's `scores` or, without them, by their own.

    The best sentence is always shown, a further one only if it contains a wanted term.
    """
    order = sorted(range(len(found)), key=lambda number: -(scores[number] if scores else found[number].score))
    chosen = [found[number] for number in order[:SENTENCES] if found[number].score > 0 or number == order[0]]
    return tuple(sorted(chosen, key=lambda item: item.start))


def doubts(passage: Passage, criteria: Sequence[Criterion], lexicon: ConceptLexicon) -> int:
    """The doubts that a passage leaves about all criteria, as one number; 0: it proves them all.

    They add up, but all of a lesser kind never to one of a greater kind.
    """
    counts = Counter(kind for item in criteria for kind in _doubts(passage, item, lexicon))
    return sum(count * _weight(kind, criteria) for kind, count in counts.items())


def unproven(criteria: Sequence[Criterion]) -> int:
    """The least `doubts` of a passage that leaves one of the criteria unproven."""
    return _weight(NOT_PROVEN, criteria)


def _weight(kind: int, criteria: Sequence[Criterion]) -> int:
    found: int = (len(criteria) + 1) ** kind
    return found


def _doubts(passage: Passage, criterion: Criterion, lexicon: ConceptLexicon) -> Iterator[int]:
    """The kinds of doubts about one criterion."""
    proven = min((doubt for doubt, _ in _proving(passage, criterion, lexicon)), default=None)
    if proven is None:
        yield NOT_PROVEN
        return
    if asks(passage.heading):
        yield ASKED
    if proven:
        yield SUSPECTED
    elif criterion.denies(((item.concept, item.assertion) for item in passage.mentions), lexicon):
        yield DENIED


def find_proofs(
    engine: SearchEngine,
    index: str,
    passages: Sequence[Passage],
    criteria: Sequence[Criterion],
    lexicon: ConceptLexicon,
    access: Access,
) -> Mapping[str, tuple[Proof | None, ...]]:
    """Document -> for each criterion the sentence that proves it most surely, None where the document does not mention it.

    `passages` are those that are shown: of sentences that are alike sure, their own come first.
    """
    keys = [key for item in criteria for key in item.keys]
    found = engine.proofs(index, [passage.document for passage in passages], keys, access) if criteria else {}
    return {
        passage.document: tuple(
            _first_proof((passage, *found.get(passage.document, ())), item, lexicon) for item in criteria
        )
        for passage in passages
    }


def _first_proof(passages: Sequence[Passage], criterion: Criterion, lexicon: ConceptLexicon) -> Proof | None:
    found = ((doubt, passage, item) for passage in passages for doubt, item in _proving(passage, criterion, lexicon))
    best = min(found, key=itemgetter(0), default=None)
    return _proof(best[1], best[2]) if best else None


def _proving(passage: Passage, criterion: Criterion, lexicon: ConceptLexicon) -> Iterator[tuple[int, PassageMention]]:
    for item in passage.mentions:
        doubt = criterion.doubt(item.concept, item.assertion, lexicon)
        if doubt is not None:
            yield doubt, item


def _proof(passage: Passage, mention: PassageMention) -> Proof:
    start, end = mention.sentence_start, mention.sentence_end
    return Proof(
        passage=passage.id,
        heading=passage.heading,
        text=passage.text[start:end],
        start=start,
        end=end,
        concept=mention.concept,
        assertion=mention.assertion,
        mark=Span(mention.start - start, mention.end - start),
    )
