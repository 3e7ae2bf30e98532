"""Health articles: a question, or an entity and an aspect, finds the passage that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from encoders.labels.leaks import Twins, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.records import Record, records
from encoders.labels.split import bucket, split_of

ASPECTS = {
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
"""Our names for each question type: a searcher may use any of them."""


def training_documents(data: Path, dropped: dict[str, int]) -> list[Record]:
    """Articles without evaluated documents, titles of evaluated entities, and passages that evaluation nearly repeats.

    An article without a title names no entity, so it is left out, too.
    """
    judged = records(data, "medquad/cdv_test_passages.jsonl.gz")
    ids = {record["document"] for record in judged}
    queries = records(data, "medquad/cdv_test_queries.jsonl.gz")
    entities = {normalise(record["entity"]) for record in (*judged, *queries)}
    found = records(data, "medquad/documents.jsonl.gz")
    tests = {record["passage"] for record in judged}
    texts = (passage["text"] for record in found for passage in record["passages"] if passage["id"] in tests)
    guarded = Twins(texts, 3, 0.8)
    return [
        {**record, "passages": _unguarded(record, guarded, dropped)}
        for record in found
        if record["id"] not in ids and normalise(record["title"]) not in {*entities, ""}
    ]


def _unguarded(record: Record, guarded: Twins, dropped: dict[str, int]) -> list[Record]:
    kept = [passage for passage in record["passages"] if passage["text"].strip()]
    free = [passage for passage in kept if passage["text"] not in guarded]
    dropped["health passages near a test passage"] += len(kept) - len(free)
    return free


def health_corpus(found: list[Record]) -> list[Text]:
    """One passage a question; the heading is the question type, never the question."""
    return [
        Text(passage["id"], record["title"], passage["question_type"], passage["text"])
        for record in found
        for passage in record["passages"]
    ]


def health(found: list[Record]) -> Iterator[Pair]:
    """Two pairs a passage: its question, and its entity with one name of the aspect."""
    answers: dict[tuple[str, str], list[str]] = {}
    for text in health_corpus(found):
        answers.setdefault((normalise(text.title), text.heading), []).append(text.id)
    for record in found:
        group = normalise(record["title"])
        for passage, text in zip(record["passages"], health_corpus([record]), strict=True):
            relevant = tuple(answers[group, text.heading])
            for task, query in (("question", passage["question"]), ("slots", slots(text))):
                yield Pair(task, f"{task}:{text.id}", group, split_of(group), "health", query, relevant, text)


def slots(text: Text) -> str:
    """`entity aspect`, with the aspect's name chosen by the passage's id."""
    names = ASPECTS.get(text.heading, (text.heading,))
    return f"{text.title} {names[bucket(text.id, len(names))]}"
