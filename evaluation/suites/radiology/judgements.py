"""Findings of chest X-rays (RADIOLOGY, R5): the query is a finding, or "no" finding, the answers all sentences that say so.

Every sentence is ranked for every query, so nothing is cut off. The judgements are the project's own labels
(`encoders.labels.sentences`). A sentence that leaves the finding open is left out of that query's ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from encoders.labels.phrasing import query
from encoders.labels.sentences import (
    INDIANA,
    MTSAMPLES,
    Concept,
    LabelledSentence,
    assign_folds,
    match_concepts,
    read_sentences,
)
from evaluation.measures import Values
from evaluation.published.systems import published_rows
from evaluation.task import SAMPLE_SEED
from mappings.errors import InvalidInput
from search.settings import Settings

FILES: Final = {INDIANA: "indiana_cxr/reports.jsonl", MTSAMPLES: "mtsamples/notes.jsonl"}
"""Collection of reports → its file in MEDLEY_DATA."""
LEAST: Final = 10
"""Matching sentences that a concept needs to become a query."""
DEEP: Final = 100
MEASURES: Final = ("AP", "Rprec", f"R@{DEEP}")

Marks = NDArray[np.bool_]
Scoring = Callable[[Sequence[str]], Values]
"""Queries → scores, shape (queries, sentences)."""

_TABLES: Final = (
    "two folds of Indiana's findings",
    "across collections, measured on Indiana",
    "across collections, measured on NIH",
    "separation on Indiana",
    "separation on NIH",
)
PUBLISHED: Final = tuple(row for table in _TABLES for row in published_rows("radiology", table))


@dataclass(frozen=True, slots=True)
class FindingQuery:
    """A query with its sentences: `relevant` and `ranked` are marks of shape (n,); all that is relevant is ranked."""

    concept: Concept
    fold: int
    relevant: Marks
    ranked: Marks

    @property
    def text(self) -> str:
        """The query as text."""
        return query(self.concept)


@dataclass(frozen=True, slots=True)
class FindingJudgements:
    """All sentences, n of them by id, and the queries over them."""

    texts: tuple[str, ...]
    queries: tuple[FindingQuery, ...]

    def sampled(self, number: int | None) -> FindingJudgements:
        """The same sentences, with a fixed sample of the queries."""
        if number is None or number >= len(self.queries):
            return self
        chosen = sorted(Random(SAMPLE_SEED).sample(range(len(self.queries)), number))  # noqa: S311
        return replace(self, queries=tuple(self.queries[place] for place in chosen))


def judgements(settings: Settings, reports: str = INDIANA) -> FindingJudgements:
    """The queries over the reports in MEDLEY_DATA. Raises `InvalidInput`, `NotFound` without them."""
    return judge(read_sentences(settings.data, reports), FILES[reports])


def judge(found: Sequence[LabelledSentence], file: str = FILES[INDIANA]) -> FindingJudgements:
    """Queries for every concept that `LEAST` sentences match. Raises `InvalidInput`, naming the `file`, where there is none."""
    ordered = sorted(found, key=lambda sentence: sentence.id)
    matched = match_concepts(ordered)
    sides = assign_folds(matched)
    row = {sentence.id: number for number, sentence in enumerate(ordered)}
    doubted: dict[str, list[int]] = {}
    for sentence in ordered:
        for finding in sentence.doubts:
            doubted.setdefault(finding, []).append(row[sentence.id])
    queries = []
    for concept, ids in matched.items():
        if len(ids) >= LEAST:
            relevant = _marks(len(ordered), [row[identifier] for identifier in ids])
            ranked = relevant | ~_marks(len(ordered), doubted.get(concept.finding, []))
            queries.append(FindingQuery(concept, sides[concept.finding], relevant, ranked))
    if not queries:
        raise InvalidInput(f"no finding is in {LEAST} sentences of {file}: there is no query to measure", field=file)
    return FindingJudgements(tuple(sentence.text for sentence in ordered), tuple(queries))


def _marks(size: int, rows: Sequence[int]) -> Marks:
    marks = np.zeros(size, dtype=bool)
    marks[rows] = True
    return marks


def measure(found: FindingJudgements, scoring: Scoring) -> dict[str, Values]:
    """Measure → its values, shape (queries,), in the order of `found.queries`."""
    scores = scoring([item.text for item in found.queries])
    values = [_of_query(item, row) for item, row in zip(found.queries, scores, strict=True)]
    return {name: np.array([value[name] for value in values]) for name in MEASURES}


def _of_query(item: FindingQuery, scores: Values) -> Mapping[str, float]:
    """AP, R-precision, and recall at `DEEP`, of one complete ranking; ties by id."""
    rows = np.flatnonzero(item.ranked)
    hits = item.relevant[rows[np.argsort(-scores[rows], kind="stable")]]
    ranks = np.flatnonzero(hits) + 1
    total = len(ranks)
    precisions = np.arange(1, total + 1) / ranks
    return {
        "AP": float(precisions.mean()),
        "Rprec": float((ranks <= total).mean()),
        f"R@{DEEP}": float((ranks <= DEEP).mean()),
    }


def separations(found: FindingJudgements, scoring: Scoring) -> list[Values]:
    """For each query score(it) - score(its opposite) of the sentences that match it (R5; their table 3)."""
    scores = scoring([item.text for item in found.queries])
    opposite = scoring([query(item.concept.opposite) for item in found.queries])
    return [(scores[place] - opposite[place])[item.relevant] for place, item in enumerate(found.queries)]
