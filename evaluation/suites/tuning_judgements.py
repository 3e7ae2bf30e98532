"""Judgements to tune on: the tenth of the training groups that no model was fitted to (`encoders.labels.split`).

A model ranks its own training pairs better than new ones, so weights tuned on those would trust it too much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair
from encoders.labels.split import HELD_OUT, bucket, split_of
from encoders.labels.tasks import claims, health
from encoders.labels.tasks.notes import read_training_notes
from evaluation.corpus.abstracts import LABELS
from evaluation.suites import check_covid, notes, scifact
from evaluation.suites.medquad import CANDIDATES
from evaluation.task import CANDIDATE_FIELD, Corpus, Question, Task
from mappings.documents import Document, Section
from search.settings import Settings

MEASURES = ("nDCG@10", "Success@1", "R@100")
QUESTIONS: Final = 300
ARTICLES_OF_TEN: Final = 3
"""Tenths of the training articles that are ranked: about as many passages as in the test split."""


def _held_out(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.split == HELD_OUT]


def _task(name: str, corpus: Corpus, pairs: Iterable[Pair]) -> Task:
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    for pair in pairs:
        question = questions.setdefault(normalise(pair.query), Question(pair.id, pair.query))
        judgements.setdefault(question.id, {}).update(dict.fromkeys(pair.relevant, 1))
    note = f"{name}: {len(questions)} questions of the training side's held-out tenth"
    return Task(name, corpus, tuple(questions.values()), judgements, MEASURES, notes=(note,))


def abstracts(settings: Settings) -> list[Task]:
    """Claims of SciFact and of Check-COVID, each over its own corpus and, as in a real collection, within the pool."""
    dropped: Counter[str] = Counter()
    held_out = {
        scifact.task: _held_out(claims.label_scifact(settings.data, dropped)),
        check_covid.task: _held_out(claims.label_check_covid(settings.data, dropped)),
    }
    suites = [(suite(settings, pooled), pairs) for pooled in (False, True) for suite, pairs in held_out.items()]
    return [_task(f"{task.suite}-train", task.corpus, pairs) for task, pairs in suites]


def articles(settings: Settings) -> list[Task]:
    """Questions over three tenths of the training articles, with and without titles, over all and over 64 candidates."""
    found = [row for row in health.read_training_articles(settings.data, Counter()) if _near(normalise(row.title))]
    pairs = [pair for pair in _held_out(health.label_health(found)) if pair.task == "question"]
    texts = health.health_texts(found)

    def documents(titled: bool) -> Callable[[], Iterable[Document]]:
        return lambda: (
            Document(
                text.id, text.title if titled else "", (Section("", text.text),), LABELS, {CANDIDATE_FIELD: text.id}
            )
            for text in texts
        )

    names = {"articles-train": False, "articles-train-titled": True}
    ranked = [_task(name, Corpus(name, "articles", documents(titled)), pairs) for name, titled in names.items()]
    return [
        task.sampled(QUESTIONS)
        for whole in ranked
        for task in (whole, replace(whole, suite=f"{whole.suite}-64", candidates=CANDIDATES))
    ]


def _near(group: str) -> bool:
    return split_of(group) == HELD_OUT or bucket(f"tune:{group}", 10) < ARTICLES_OF_TEN - 1


def clinical(settings: Settings) -> list[Task]:
    """Self-labelled sections of the held-out training notes, among those and a fifth of the other training notes."""
    chosen = [row for row in read_training_notes(settings.data, Counter()) if _near_note(row.id)]
    queried = [row for row in chosen if split_of(row.id) == HELD_OUT]
    task = notes.task_over(chosen, queried, "notes-train", settings)
    return [replace(task, suite="notes-train", measures=MEASURES)]


def _near_note(identifier: str) -> bool:
    return split_of(identifier) == HELD_OUT or bucket(f"tune:{identifier}", 5) == 0


KINDS: Final[Mapping[str, Callable[[Settings], list[Task]]]] = {
    "abstracts": abstracts,
    "articles": articles,
    "notes": clinical,
}
