"""The entities that sentences link to (CDV, equation 15): of articles without links, the conditions that a sentence names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from encoders.discourse.reading import SentenceSequence
from encoders.discourse.slots import entity_key
from encoders.training.discourse.names import NamedText
from mappings.clinical.reading import ConceptReader

_GROUP: Final = "diagnoses"
"""The group of concepts that articles are about."""
Links = tuple[NamedText, ...]


def link_sentences(documents: Sequence[SentenceSequence], reader: ConceptReader) -> list[list[Links]]:
    """For each sentence of each document the conditions that it names, each by the name of its concept, in their order.

    It does not matter what the sentence says of them: a link tells what it is about.
    """
    known: dict[str, Links] = {}
    found = []
    for document in documents:
        for sentence in document.sentences:
            if sentence not in known:
                known[sentence] = _link(sentence, reader)
        found.append([known[sentence] for sentence in document.sentences])
    return found


def _link(sentence: str, reader: ConceptReader) -> Links:
    concepts = (reader.lexicon.get(item.concept) for item in reader.read_alone(sentence))
    names = (concept.name for concept in concepts if concept.group == _GROUP)
    return tuple(dict.fromkeys(NamedText(key, name) for name in names if (key := entity_key(name))))
