"""Check-COVID: the query is a sentence from the news, the answer the abstract that supports or refutes it."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.corpora import lines_of, merged, plain, pool
from evaluation.data import folder
from evaluation.suite import POOLED, Suite, read_in_part
from evaluation.task import Corpus, Question, Task
from mappings import collection as kinds
from mappings.documents import Document
from mappings.formats.scifact import parse
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5", "Success@20")
DECIDED = frozenset({"SUPPORT", "REFUTE"})


def corpus(settings: Settings) -> Iterator[Document]:
    """The 347 abstracts, by the product's own reader."""
    collection = kinds.load("abstracts", None, settings.collections)
    for record in lines_of(folder(settings, "check_covid") / "corpus.jsonl"):
        yield parse(record, collection)


def task(settings: Settings, distractors: bool = False, split: str = "dev") -> Task:
    """The suite: claims with the same text are one query; an abstract that settles a claim is its answer."""
    judgements: dict[str, dict[str, int]] = {}
    questions: dict[str, Question] = {}
    for claim in lines_of(folder(settings, "check_covid") / f"claims_{split}.jsonl"):
        if claim["label"] in DECIDED:
            question = questions.setdefault(plain(claim["claim"]), Question(claim["id"], claim["claim"]))
            judgements.setdefault(question.id, {})[claim["cord_id"]] = 1
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
    return merged(corpus(settings), pool(settings)) if distractors else corpus(settings)


SUITE = Suite(
    "check-covid",
    "news claims to abstracts",
    lambda settings, options: read_in_part(task(settings, options.distractors), options.reading),
    options=("distractors", "reading"),
    forms=POOLED,
)
