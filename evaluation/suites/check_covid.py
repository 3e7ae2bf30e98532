"""Check-COVID: the query is a sentence from the news, the answer the abstract that supports or refutes it."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.corpus.abstracts import merged, plain, pool
from evaluation.suite import POOLED, Suite, read_in_part
from evaluation.task import Corpus, Question, Task
from mappings import collection as kinds
from mappings.datasets.check_covid import read_claims, read_corpus
from mappings.documents import Document
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5", "Success@20")


def corpus(settings: Settings) -> Iterator[Document]:
    """The 347 abstracts, by the product's own reader."""
    collection = kinds.load("abstracts", None, settings.collections)
    for abstract in read_corpus(settings.data):
        yield abstract.document(collection)


def task(settings: Settings, distractors: bool = False, split: str = "dev") -> Task:
    """The suite: claims with the same text are one query; an abstract that settles a claim is its answer."""
    judgements: dict[str, dict[str, int]] = {}
    questions: dict[str, Question] = {}
    for claim in read_claims(settings.data, split):
        if claim.is_decided:
            question = questions.setdefault(plain(claim.text), Question(claim.id, claim.text))
            judgements.setdefault(question.id, {})[claim.abstract] = 1
    name = "check-covid-distractors" if distractors else "check-covid"
    return Task(
        suite=name,
        corpus=Corpus(name, "abstracts", lambda: _documents(settings, distractors)),
        questions=tuple(questions.values()),
        judgements=judgements,
        measures=MEASURES,
        notes=(
            f"{split} claims labelled SUPPORT or REFUTE, claims with the same text as one query",
            "with the pool of 39k abstracts added, merged by normalised title" if distractors else "347 abstracts",
        ),
        reference=True,
    )


def _documents(settings: Settings, distractors: bool) -> Iterator[Document]:
    return merged(corpus(settings), pool(settings.data)) if distractors else corpus(settings)


SUITE = Suite(
    "check-covid",
    "news claims to abstracts",
    lambda settings, options: read_in_part(task(settings, options.distractors), options.reading),
    options=("distractors", "reading"),
    forms=POOLED,
)
