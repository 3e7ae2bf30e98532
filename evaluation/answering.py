"""Questions asked twice: with their answers in the collection, and with the answers taken out of what was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evaluation.measures import Values
from evaluation.stages import Progress, Session, check_whole, query_for, retrieve_question
from evaluation.task import Question
from search.pipeline.present import present_first
from search.pipeline.rerank import rerank
from search.pipeline.results import Results
from search.pipeline.services import Trace


@dataclass(frozen=True, slots=True)
class AskedTwice:
    """The first page of a question with its `answers` (ids of documents) in the collection, and with these taken out."""

    question: str
    answers: frozenset[str]
    held: Results
    taken_out: Results

    @property
    def pages(self) -> tuple[Results, Results]:
        """Both pages, the one with answers first."""
        return self.held, self.taken_out


def ask_twice(session: Session, progress: Progress | None = None) -> Iterator[AskedTwice]:
    """Every question of the session's task, by the product's own pipeline and without a deadline.

    Answers are taken out after retrieval, so that both pages rank the same candidates otherwise. Raises `Unavailable` for a
    degraded answer, which must not be measured.
    """
    for number, question in enumerate(session.task.questions, 1):
        grades = session.task.judgements[question.id]
        answers = frozenset(name for name, grade in grades.items() if grade > 0)
        pages = _ask(session, question, frozenset()), _ask(session, question, answers)
        yield AskedTwice(question.id, answers, *pages)
        if progress:
            progress(number, len(session.task.questions))


def _ask(session: Session, question: Question, out: frozenset[str]) -> Results:
    query, services, trace = query_for(session, question), session.services, Trace()
    found = retrieve_question(session, question)
    left = [item for item in found.candidates if item.document not in out]
    retrieved = replace(found, candidates=left)
    page = present_first(query, retrieved, rerank(query, retrieved, services, trace), services, trace)
    check_whole((*page.degraded, *page.partial))
    return page


def auroc(positive: Values, negative: Values) -> float:
    """The probability that a positive scores above a negative, ties counting half: the area under the ROC curve."""
    values = np.concatenate([positive, negative])
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = ranks[places][: positive.size].sum()
    return float((total - positive.size * (positive.size + 1) / 2) / (positive.size * negative.size))


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Of `count` probabilities that lie close together: their mean, and how often what they say was so."""

    mean: float
    share: float
    count: int


def reliability(probabilities: Values, happened: Values, bins: int = 10) -> list[ReliabilityBin]:
    """The probabilities in as many equal ranges, those without any left out."""
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    return [
        ReliabilityBin(float(probabilities[own].mean()), float(happened[own].mean()), int(own.sum()))
        for place in range(bins)
        if (own := places == place).any()
    ]


def calibration_error(probabilities: Values, happened: Values) -> float:
    """The expected calibration error over ten ranges (Naeini, Cooper and Hauskrecht 2015): mean distance, by count."""
    found = reliability(probabilities, happened)
    total = sum(item.count for item in found)
    return sum(item.count * abs(item.mean - item.share) for item in found) / max(1, total)
