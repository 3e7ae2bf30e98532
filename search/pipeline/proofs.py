"""The sentences that prove the criteria of a query, in the documents of one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from mappings.clinical.concepts import ConceptLexicon
from mappings.documents import Access, Passage, PassageMention
from search.pipeline.results import Proof, Span
from search.protocols import SearchEngine
from search.understanding.criteria import Criterion

NOT_PROVEN: Final = 2
"""The doubt of a passage that does not speak of a criterion."""


def doubts(passage: Passage, criteria: Sequence[Criterion], lexicon: ConceptLexicon) -> int:
    """The doubts that a passage leaves about all criteria, added up; 0: it proves them all."""
    return sum(min((doubt for doubt, _ in _proving(passage, item, lexicon)), default=NOT_PROVEN) for item in criteria)


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
