"""Topics: abstracts that name a condition and an aspect of it in their title, or in a question that they answer.

They label themselves: "Prevalence of gout in adults" is about `gout`, its heading is `prevalence`. What is told of one
condition stands together, as the sections of an article would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from encoders.labels.pairs import Text
from encoders.labels.tasks.abstracts import abstract_text
from mappings.analysis.asked_aspects import find_asked_aspect, name_aspects
from mappings.clinical.reading import ConceptReader
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.bioasq import ExpertQuestion, join_snippets

CORPUS: Final = "topics"
_ENTITIES: Final = frozenset({"diagnoses", "symptoms"})
"""The groups of concepts that a text can be about."""


def label_topics(
    pool: Iterable[SectionedAbstract], asked: Iterable[ExpertQuestion], reader: ConceptReader, dropped: Counter[str]
) -> list[Text]:
    """Passages with the condition as title and the aspect as heading, by condition."""
    found = [*_of_titles(pool, reader, dropped), *_of_questions(asked, reader, dropped)]
    return sorted(found, key=lambda text: (text.title, text.id))


def find_topic(text: str, reader: ConceptReader) -> tuple[str, str]:
    """(condition, aspects joined by "and") of a title or a question; "" for what it does not name."""
    named = [reader.lexicon.get(item.concept) for item in reader.read_alone(text)]
    conditions = list(dict.fromkeys(concept.name for concept in named if concept.group in _ENTITIES))
    return (conditions[0] if conditions else "", name_aspects(text))


def _of_titles(pool: Iterable[SectionedAbstract], reader: ConceptReader, dropped: Counter[str]) -> Iterator[Text]:
    for abstract in pool:
        condition, aspects = find_topic(abstract.title, reader)
        if condition and aspects:
            yield Text(f"topic:{abstract.id}", condition, aspects, abstract_text(abstract).text)
        else:
            dropped["topics: titles without a condition and an aspect of it"] += 1


def _of_questions(asked: Iterable[ExpertQuestion], reader: ConceptReader, dropped: Counter[str]) -> Iterator[Text]:
    for question in asked:
        condition, named = find_topic(question.text, reader)
        aspects = named or find_asked_aspect(question.text)
        if not (condition and aspects):
            dropped["topics: questions without a condition and an aspect of it"] += 1
            continue
        for document, text in join_snippets([question]).items():
            yield Text(f"topic:{question.year}:{question.id}:{document}", condition, aspects, text)
