"""Topics: abstracts that name a condition and an aspect of it in their title, or in a question that they answer.

They label themselves: "Prevalence of gout in adults" is about `gout`, its heading is `prevalence`. What is told of one
condition stands together, as the sections of an article would.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from encoders.labels.pairs import Text
from encoders.labels.tasks.abstracts import abstract_text
from mappings.clinical.reading import ConceptReader
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.bioasq import ExpertQuestion, join_snippets

CORPUS: Final = "topics"
_ENTITIES: Final = frozenset({"diagnoses", "symptoms"})
"""The groups of concepts that a text can be about."""
_ASPECTS: Final = re.compile(
    r"\b(?:clinical (?:features|presentation|manifestations|characteristics)|symptoms|signs and symptoms|phenotype|"
    r"treatment|therapy|management|surgery|prevention|screening|diagnosis|diagnostic (?:accuracy|criteria|tests?)|"
    r"differential diagnosis|prognosis|prognostic factors|survival|mortality|outcomes?|complications|"
    r"epidemiology|prevalence|incidence|frequency|burden|risk factors|predictors|susceptibility|"
    r"causes?|a?etiology|pathogenesis|pathophysiology|mechanisms?|genetics|genes?|mutations?|inheritance|"
    r"classification|staging|stages|overview|review|future directions|research|quality of life)\b",
    re.IGNORECASE,
)
_VERBS: Final = (
    (re.compile(r"\b(?:treat|treated|treats|effective (?:for|against|in))\b", re.IGNORECASE), "treatment"),
    (re.compile(r"\b(?:diagnosed|detected|diagnose)\b", re.IGNORECASE), "diagnosis"),
    (re.compile(r"\b(?:caused by|cause of|causes)\b", re.IGNORECASE), "causes"),
    (re.compile(r"\b(?:inherited|mutated|gene is|genes are)\b", re.IGNORECASE), "genetics"),
    (re.compile(r"^(?:what is|what are|describe|define)\b", re.IGNORECASE), "overview"),
)
"""How a question asks for an aspect that it does not name."""


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
    aspects = list(dict.fromkeys(found.group().lower() for found in _ASPECTS.finditer(text)))
    return (conditions[0] if conditions else "", " and ".join(aspects[:2]))


def find_asked_aspect(question: str) -> str:
    """The aspect that a question asks for by a verb, without naming it; "" for none."""
    return next((aspect for pattern, aspect in _VERBS if pattern.search(question)), "")


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
