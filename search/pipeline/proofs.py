"""The sentences that prove the criteria of a query, in the documents of one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mappings.clinical.concepts import ConceptLexicon
from mappings.documents import Access, Passage, PassageMention
from search.pipeline.results import Proof, Span
from search.protocols import SearchEngine
from search.understanding.criteria import Criterion


def proven_by(passage: Passage, criteria: Sequence[Criterion], lexicon: ConceptLexicon) -> int:
    """How many of the criteria the passage proves."""
    return sum(any(_proving(passage, item, lexicon)) for item in criteria)


def find_proofs(
    engine: SearchEngine,
    index: str,
    passages: Sequence[Passage],
    criteria: Sequence[Criterion],
    lexicon: ConceptLexicon,
    access: Access,
) -> Mapping[str, tuple[Proof | None, ...]]:
    """Document -> for each criterion the first sentence that proves it, None where the document does not mention it.

    `passages` are those that are shown: their own sentences come first.
    """
    keys = [item.key for item in criteria]
    found = engine.proofs(index, [passage.document for passage in passages], keys, access) if criteria else {}
    return {
        passage.document: tuple(
            _first_proof((passage, *found.get(passage.document, ())), item, lexicon) for item in criteria
        )
        for passage in passages
    }


def _first_proof(passages: Sequence[Passage], criterion: Criterion, lexicon: ConceptLexicon) -> Proof | None:
    for passage in passages:
        for mention in _proving(passage, criterion, lexicon):
            return _proof(passage, mention)
    return None


def _proving(passage: Passage, criterion: Criterion, lexicon: ConceptLexicon) -> Iterator[PassageMention]:
    return (item for item in passage.mentions if criterion.is_met_by(item.concept, item.assertion, lexicon))


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
