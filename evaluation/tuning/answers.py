"""`medley tune answers`: the weights of the probability that a hit answers, and that any hit of a page does.

Fitted on claims of the training side that no model was trained on, each asked with its answers within the pool and with these
taken out. What the probability is worth is told by claims left out of the fit in turn, and by the suite `nothing-here`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from evaluation.answering import AskedTwice, ask_twice, auroc, calibration_error
from evaluation.corpus.index import open_corpus
from evaluation.measures import Values
from evaluation.models import configure, open_session, require_models
from evaluation.stages import Progress
from evaluation.statistics import resampled
from evaluation.suites import tuning_judgements
from evaluation.task import Task
from evaluation.tuning.weights import TuningOptions
from mappings.errors import InvalidInput
from mappings.stages import ANSWER_SIGNS, AnswerWeights
from search.pipeline.results import Results
from search.ranking.answers import hit_probability, page_probability, page_signs
from search.settings import Settings

NAME: Final = "answers"
FOLDS: Final = 5
PENALTY: Final = 1.0
"""Of the squared weights of standardised signs, beside the sum of the log losses."""
STEPS: Final = 50
Report = dict[str, Any]
Row = tuple[Mapping[str, float], bool]
"""Signs by name, and whether what they tell was so."""


def run(settings: Settings, options: TuningOptions, progress: Progress | None = None) -> Report:
    """The report: the weights, and what they are worth on claims left out of the fit. Raises what data and models raise."""
    if options.folder is not None:
        raise InvalidInput("`medley tune answers` has its own claims; leave out --folder", field="folder")
    asked: list[AskedTwice] = []
    tasks = [task.sampled(options.queries) for task in claims_in_pool(settings)]
    require_models(tasks, settings, True)
    for task in tasks:
        medley = open_corpus(task.corpus, configure(task, settings))
        asked += ask_twice(open_session(medley, task, True), progress)
    return describe(asked, [note for task in tasks for note in task.notes])


def claims_in_pool(settings: Settings) -> list[Task]:
    """The held-out claims of the training side, each within the pool."""
    return [task for task in tuning_judgements.abstracts(settings) if "distractors" in task.corpus.name]


def describe(asked: Sequence[AskedTwice], notes: Sequence[str]) -> Report:
    """The report on claims that were asked twice."""
    weights = fitted(asked)
    left_out = np.array(
        [
            page
            for fold in range(FOLDS)
            for page in _told(asked[fold::FOLDS], fitted([item for n, item in enumerate(asked) if n % FOLDS != fold]))
        ]
    ).T
    happened = np.repeat([1.0, 0.0], left_out.shape[1])
    return {
        "tune": NAME,
        "queries": len(asked),
        "chosen": {name: getattr(weights, name) for name in ("hit", "unread", "page")},
        "AUROC": resampled(left_out, lambda own: auroc(own[0], own[1])).as_json(),
        "ECE": round(calibration_error(left_out.ravel(), happened), 6),
        "notes": [
            *notes,
            f"AUROC and ECE of pages, on each {FOLDS}th of the claims by weights that the others were fitted to",
        ],
        "command": "medley tune answers",
    }


def fitted(asked: Sequence[AskedTwice]) -> AnswerWeights:
    """The weights that fit these claims; those of pages on top of those of hits."""
    hits = [row for item in asked for page in item.pages for row in _hit_rows(page, item.answers)]
    read = [row for row in hits if "decided" in row[0]]
    unread = [({name: value for name, value in signs.items() if name != "decided"}, was) for signs, was in hits]
    weights = AnswerWeights(hit=fit(read), unread=fit(unread), page={})
    pages = [
        (signs, place == 0)
        for item in asked
        for place, page in enumerate(item.pages)
        if (signs := page_signs(_hit_probabilities(page, weights)))
    ]
    return replace(weights, page=fit(pages))


def _hit_rows(page: Results, answers: frozenset[str]) -> list[Row]:
    """The signs of each hit that has some, and whether it, or another version of the work, is an answer."""
    return [
        (
            {name: value for name, value in hit.signs._asdict().items() if value is not None},
            bool(answers & {hit.document, *hit.others}),
        )
        for hit in page.hits
        if hit.signs
    ]


def _hit_probabilities(page: Results, weights: AnswerWeights) -> list[float | None]:
    return [hit_probability(hit.signs, weights) for hit in page.hits]


def _told(asked: Sequence[AskedTwice], weights: AnswerWeights) -> list[list[float]]:
    """The probability of both pages of each claim; a page without hits has none."""
    return [
        [page_probability(_hit_probabilities(page, weights), weights) or 0.0 for page in item.pages] for item in asked
    ]


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """The weights of a logistic regression by Newton's method, as `bias` and by sign; empty without rows."""
    if not rows:
        return {}
    names = list(rows[0][0])
    signs = np.array([[row[name] for name in names] for row, _ in rows], dtype=float)
    happened = np.array([was for _, was in rows], dtype=float)
    mean, spread = signs.mean(axis=0), signs.std(axis=0)
    spread[spread < 1e-9] = 1.0
    scaled = _solve(np.column_stack([np.ones(len(rows)), (signs - mean) / spread]), happened)
    weights = scaled[1:] / spread
    found = {"bias": float(scaled[0] - weights @ mean), **dict(zip(names, map(float, weights), strict=True))}
    return {name: round(value, 4) for name, value in found.items() if name in (*ANSWER_SIGNS, "best", "next")}


def _solve(inputs: Values, happened: Values) -> Values:
    """The weights of the columns of `inputs`, the first of which is constant and not penalised."""
    weights = np.zeros(inputs.shape[1])
    penalty = PENALTY * np.eye(inputs.shape[1])
    penalty[0, 0] = 1e-6
    for _ in range(STEPS):
        told = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (told - happened) + penalty @ weights
        curvature = (inputs * (told * (1 - told))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def toml(report: Mapping[str, Any]) -> str:
    """The table `answers` of a kind's file, and the command that fitted it."""
    lines = [f"[answers]   # {report['command']}: AUROC {report['AUROC']['value']:.3f} on claims left out of the fit"]
    for name, weights in report["chosen"].items():
        lines.append(f"{name} = {{ {', '.join(f'{sign} = {value:g}' for sign, value in weights.items())} }}")
    return "\n".join([*lines, ""])
