"""Other names of what a question names: "heart attack" is also searched as "myocardial infarction".

A document that has another name scores by it in place of the typed one, at a lower weight, so that nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from mappings.analysis.lexicon import rows
from mappings.analysis.words import terms
from mappings.clinical.concepts import ClinicalConcept, common_names
from mappings.clinical.reading import ConceptMention, ConceptReader
from search.query import NameAlternatives
from search.understanding.lookups import phrase

SYNONYMS: Final = 1
"""How many synonyms of a concept are searched beside its preferred name."""
MAX_NAMED: Final = 8
"""How many of the concepts that a text names are searched by other names: the first ones."""
_TELLING: Final = frozenset(["diagnoses", "drugs", "drug-classes", "procedures", "laboratory"])
"""The groups whose concepts tell that a text is about medicine; "pain" and "weight" do not."""
_NEVER: Final = "vitals"
"""The group of "weight", "height" and "temperature", which mostly mean something else in a question."""


class OtherNames(NamedTuple):
    """What a text names as `typed`, and the `names` by which it is searched, too."""

    typed: str
    names: tuple[str, ...]

    def alternatives(self, weight: float) -> NameAlternatives:
        """For the lexical leg: the typed terms, and each other name as a phrase with this weight."""
        return NameAlternatives(
            tuple(dict.fromkeys(terms(self.typed))), tuple((phrase(name), weight) for name in self.names)
        )


def other_names(
    text: str, reader: ConceptReader, as_typed: Set[tuple[str, ...]] = frozenset()
) -> tuple[OtherNames, ...]:
    """For each concept that `text` names, its preferred name and its commonest synonyms, as far as they add a word.

    Left out is what is named by one of `as_typed`, given as stems, and a name with an everyday sense, such as "stroke",
    unless its neighbors tell the medical one.
    """
    mentions = reader.read_alone(text)
    stems = frozenset(terms(text))
    found: dict[str, OtherNames] = {}
    for item in mentions:
        typed, concept = text[item.start : item.end], reader.lexicon.get(item.concept)
        if concept.id in found or concept.group == _NEVER or tuple(terms(typed)) in as_typed:
            continue
        if _is_medical(typed, item, mentions, stems, reader) and (names := tuple(_added(typed, concept, stems))):
            found[concept.id] = OtherNames(typed, names)
    return tuple(islice(found.values(), MAX_NAMED))


def _added(typed: str, concept: ClinicalConcept, stems: Set[str]) -> Iterator[str]:
    own = frozenset(terms(typed))
    if _adds(concept.name, own, stems):
        yield concept.name
    common = (name for name in common_names().get(concept.id, ()) if _adds(name, own, stems))
    yield from islice(common, SYNONYMS)


def _adds(name: str, own: Set[str], stems: Set[str]) -> bool:
    """Whether a name has a word that the text lacks, and is no longer form of what was typed: that is found anyway."""
    words = frozenset(terms(name))
    return bool(words - stems) and not own <= words


def _is_medical(
    typed: str, item: ConceptMention, mentions: Sequence[ConceptMention], stems: Set[str], reader: ConceptReader
) -> bool:
    key = tuple(terms(typed))
    telling = everyday_names().get(key)
    if telling is None:
        return True
    others = (reader.lexicon.get(other.concept).group for other in mentions if other.concept != item.concept)
    return bool(telling & (stems - set(key))) or not _TELLING.isdisjoint(others)


@cache
def everyday_names() -> Mapping[tuple[str, ...], frozenset[str]]:
    """Stems of a name that has an everyday sense, too -> those of the words that tell the medical one."""
    return {tuple(terms(name)): frozenset(terms(" ".join(words))) for name, *words in rows("everyday")}
