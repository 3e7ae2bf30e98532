"""Health articles: a question, or an entity and an aspect, is labelled with the passage that answers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.labels.leaks import Twins, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, split_of
from mappings.datasets.medquad import HealthArticle, read_articles, read_judged_passages, read_questions

ASPECTS: Final = {
    "information": ("information", "overview", "definition"),
    "symptoms": ("symptoms and presentation", "symptoms", "signs and symptoms"),
    "treatment": ("treatment", "therapy", "management"),
    "inheritance": ("genetic inheritance", "inheritance", "inheritance pattern"),
    "frequency": ("frequency and epidemiology", "frequency", "epidemiology"),
    "genetic changes": ("genetic mechanism", "genetic changes", "genes"),
    "causes": ("causes and mechanism", "causes", "etiology"),
    "exams and tests": ("diagnosis", "exams and tests", "diagnostic tests"),
    "research": ("research directions and trials", "research", "clinical trials"),
    "outlook": ("prognosis", "outlook", "prognosis and outlook"),
    "susceptibility": ("risk factors", "susceptibility", "who is at risk"),
    "considerations": ("management considerations", "considerations", "living with"),
    "prevention": ("prevention", "how to prevent", "preventive measures"),
    "stages": ("staging", "stages", "disease stages"),
    "complications": ("complications", "complications and sequelae", "consequences"),
}
"""Question type -> our names for the aspect it asks about: a user can search for any of them."""


def read_training_articles(data: Path | None, dropped: dict[str, int]) -> list[HealthArticle]:
    """The articles that training is allowed to see, without passages that nearly repeat a judged one.

    Articles with a judged passage and articles on a judged entity are left out, and so are those without a title, which
    name no entity.
    """
    judged = list(read_judged_passages(data))
    judged_articles = {passage.article for passage in judged}
    judged_ids = {passage.id for passage in judged}
    questions = read_questions(data)
    names = (*(passage.entity for passage in judged), *(question.entity for question in questions))
    entities = {"", *map(normalise, names)}
    found = list(read_articles(data))
    guarded = Twins((part.text for article in found for part in article.passages if part.id in judged_ids), 3, 0.8)
    return [
        _without_twins(article, guarded, dropped)
        for article in found
        if article.id not in judged_articles and normalise(article.title) not in entities
    ]


def _without_twins(article: HealthArticle, guarded: Twins, dropped: dict[str, int]) -> HealthArticle:
    filled = tuple(passage for passage in article.passages if passage.text.strip())
    kept = tuple(passage for passage in filled if passage.text not in guarded)
    dropped["health passages near a test passage"] += len(filled) - len(kept)
    return replace(article, passages=kept)


def health_texts(articles: Iterable[HealthArticle]) -> list[Text]:
    """One passage for each question; its heading is the question type, never the question."""
    return [
        Text(passage.id, article.title, passage.question_type, passage.text)
        for article in articles
        for passage in article.passages
    ]


def label_health(articles: Sequence[HealthArticle]) -> Iterator[Pair]:
    """Two pairs for each passage: with its question, and with its entity and one name of the aspect."""
    answers: dict[tuple[str, str], list[str]] = {}
    for text in health_texts(articles):
        answers.setdefault((normalise(text.title), text.heading), []).append(text.id)
    for article in articles:
        group = normalise(article.title)
        for passage, text in zip(article.passages, health_texts([article]), strict=True):
            relevant = tuple(answers[group, text.heading])
            for task, query in (("question", passage.question), ("slots", slot_query(text))):
                yield Pair(task, f"{task}:{text.id}", group, split_of(group), "health", query, relevant, text)


def slot_query(text: Text) -> str:
    """`entity aspect`; the passage's id chooses the aspect's name."""
    names = ASPECTS.get(text.heading, (text.heading,))
    return f"{text.title} {names[bucket(text.id, len(names))]}"
