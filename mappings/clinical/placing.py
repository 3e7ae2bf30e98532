"""Reads a document while it is split: its passages with the concepts that each mentions, and the keys they are found by.

A key is `concept|assertion`. What a passage asserts of a concept it asserts of the wider ones, too: "on ibuprofen" is found
by NSAID. Only what is ruled out is not: "no lobar pneumonia" does not rule out pneumonia. It is found by a key of its own,
`NARROWER_RULED_OUT`. But who writes "no acute cholecystitis" means no cholecystitis: a name with one of `LOOSE_MODIFIERS`
before the wider name rules that out, too. What is present is `FOUND`, too, unless only the section says so that asks what
the document is to answer: "known COPD" as the reason of an X-ray is nothing that the X-ray shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mappings.analysis.headings import normalise_heading
from mappings.analysis.passages import PassageRun, placed_passages
from mappings.clinical.concepts import ConceptLexicon
from mappings.clinical.reading import ConceptMention, ConceptReader
from mappings.collection import Collection
from mappings.documents import Document, Passage, PassageMention

RULED_OUT: Final = "ruled-out"
NARROWER_RULED_OUT: Final = "narrower-ruled-out"
"""In a key: a narrower concept is ruled out."""

PRESENT: Final = "present"
FOUND: Final = "found"
"""In a key: present, in a section that does not only ask."""
_QUESTION: Final = "indication"

LOOSE_MODIFIERS: Final = frozenset(["acute", "active", "frank", "low", "obstructive", "overt", "pleural", "recurrent"])


def read_passages(
    document: Document, version: int, collection: Collection, reader: ConceptReader | None
) -> tuple[Passage, ...]:
    """The passages of one version of a document, each with its mentions; without a `reader`, they have none."""
    mentions = reader.read(document).mentions if reader else ()
    return tuple(
        replace(passage, mentions=tuple(_placed(mentions, runs)))
        for passage, runs in placed_passages(document, version, collection)
    )


def assertion_key(concept: str, assertion: str) -> str:
    """The keyword by which the index finds what is asserted of a concept."""
    return f"{concept}|{assertion}"


def keys_of(passage: Passage, lexicon: ConceptLexicon) -> frozenset[str]:
    """The keys of everything that a passage asserts, of wider concepts too."""
    stated = {(item.concept, item.assertion) for item in passage.mentions}
    if not asks(passage.heading):
        stated |= {(concept, FOUND) for concept, assertion in stated if assertion == PRESENT}
    return frozenset(key for concept, assertion in stated for key in wider_keys(lexicon, concept, assertion))


def asks(heading: str) -> bool:
    """Whether a section says what a document is to answer, such as an indication, so that it finds nothing itself."""
    return normalise_heading(heading) == _QUESTION


def wider_keys(lexicon: ConceptLexicon, concept: str, assertion: str) -> Iterator[str]:
    """The key of a concept and its assertion, and the keys that follow from it."""
    yield assertion_key(concept, assertion)
    meant = frozenset(_meant_too(lexicon, concept)) if assertion == RULED_OUT else None
    for wider in lexicon.ancestors(concept):
        yield assertion_key(wider, assertion if meant is None or wider in meant else NARROWER_RULED_OUT)


def _meant_too(lexicon: ConceptLexicon, concept: str) -> Iterator[str]:
    """The parents that a ruled-out concept rules out, too: those whose names only lack a loose modifier."""
    item = lexicon.get(concept)
    modifier, _, rest = item.name.partition(" ")
    if modifier in LOOSE_MODIFIERS:
        yield from (parent for parent in item.parents if lexicon.get(parent).name == rest)


def _placed(mentions: Sequence[ConceptMention], runs: Sequence[PassageRun]) -> Iterator[PassageMention]:
    """Those of `mentions`, which are in order, that start in one of the runs, at their places in the passage's text."""
    for run in runs:
        first = bisect_left(mentions, (run.section, run.start), key=_place)
        last = bisect_left(mentions, (run.section, run.end), lo=first, key=_place)
        yield from (_moved(item, run) for item in mentions[first:last])


def _place(item: ConceptMention) -> tuple[int, int]:
    return item.section, item.start


def _moved(item: ConceptMention, run: PassageRun) -> PassageMention:
    by = run.at - run.start
    first, last = max(item.sentence_start, run.start), min(item.sentence_end, run.end)
    return PassageMention(
        item.concept, item.assertion, item.start + by, min(item.end, run.end) + by, first + by, last + by
    )
