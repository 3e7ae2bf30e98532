"""The suite `nothing-here`: whether an answer tells that nothing in the collection answers the claim.

Each claim is asked with the abstracts that decide on it in the collection, and with these taken out. Half of the pages
therefore hold an answer by rights; where search misses it, both pages are alike, and nothing can tell them apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from evaluation.answering import AskedTwice, ask_twice, auroc, calibration_error, reliability
from evaluation.corpus.index import mark, open_corpus
from evaluation.measures import Values
from evaluation.models import configure, describe_models, open_session, require_models
from evaluation.statistics import resampled
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites import check_covid, scifact
from evaluation.task import Task
from mappings import collection as kinds
from mappings.datasets.scifact import read_claims
from mappings.errors import InvalidInput
from search.models.registry import Models
from search.pipeline.results import Results
from search.settings import Settings

NAME: Final = "nothing-here"
AUROC, ECE = "AUROC", "ECE"
PROBABILITY: Final = "reranked"
UNTOLD: Final = 0.5
"""What a page counts that tells nothing: half of the pages hold an answer."""
BASELINES: Final[Mapping[str, Callable[[Results], float]]] = {
    "logit": lambda page: max((hit.signs.logit for hit in page.hits if hit.signs), default=-20.0),
    "coverage": lambda page: max((hit.signs.coverage for hit in page.hits if hit.signs), default=0.0),
}
_NOTES: Final = (
    "each claim is asked with the abstracts that decide on it in the collection, and with these taken out of what was found",
    "AUROC: the probability that a page with answers has the higher probability of the two; ECE: the mean distance of the told "
    "probability from how often it was so, over ten ranges; both with intervals over claims",
    "reranked: `answerable.probability` of the answer; logit, coverage: the highest of the page, which are no probabilities",
    "a claim whose words are looked up tells no probability, and counts as one half",
    "the weights are fitted by `medley tune answers` on claims of the training side that no model was trained on",
)


def tasks(settings: Settings) -> list[Task]:
    """The development claims of SciFact that an abstract decides on, and those of Check-COVID, each within the pool."""
    decided = {claim.id for claim in read_claims(settings.data, "dev") if claim.evidence}
    first = scifact.task(settings, distractors=True)
    evidence = {claim.id: dict.fromkeys(claim.evidence, 1) for claim in read_claims(settings.data, "dev")}
    questions = tuple(item for item in first.questions if item.id in decided)
    judged = {item.id: evidence[item.id] for item in questions}
    return [replace(first, questions=questions, judgements=judged), check_covid.task(settings, distractors=True)]


class NothingHereSuite:
    """The suite: one row over both data sets, and one of each."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `InvalidInput` where the kind has no weights of answers."""
        started = time.perf_counter()
        every = tasks(settings)
        require_models(every, settings, True)
        asked: dict[str, list[AskedTwice]] = {}
        models: Report = {}
        for task in [item.sampled(options.queries) for item in every]:
            medley = open_corpus(task.corpus, configure(task, settings))
            models = models or describe_models(medley, task.corpus.name, True)
            asked[task.suite.removesuffix("-distractors")] = list(ask_twice(open_session(medley, task, True), progress))
        pairs = [item for found in asked.values() for item in found]
        count, whole = len(pairs), sum(len(task.questions) for task in every)
        return {
            "suite": NAME,
            "collection": "abstracts",
            "queries": count,
            "sample": {"queries": count, "of": whole, "fixed": True} if count < whole else None,
            "tests": [],
            "published": [],
            "command": command(NAME, options),
            "models": models,
            "rows": rows(asked, options.variants),
            "reliability": _reliability(pairs),
            "notes": list(_NOTES),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where a model can't be opened."""
        require_models(tasks(settings), settings, True)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: indexes, claims, models, weights."""
        every = [task.sampled(options.queries) for task in tasks(settings)]
        collection = kinds.load("abstracts", None, settings.collections)
        models = Models(settings)
        stages, reader = models.rerank_stages(collection), models.claim_reader(collection)
        read = [stages.last.reranker.fingerprint if stages else "", reader.reader.fingerprint if reader else ""]
        decided = [[mark(task.corpus, settings), str(task.questions), task.judgements] for task in every]
        return command(NAME, options), [decided, read, str(collection)]


def rows(asked: Mapping[str, Sequence[AskedTwice]], variants: bool) -> list[Report]:
    """The rows of what was asked by data set. Raises `InvalidInput` where no probability was told at all."""
    pairs = [item for found in asked.values() for item in found]
    if all(page.probability is None for item in pairs for page in item.pages):
        raise InvalidInput(
            "the kind abstracts has no table `answers`: `medley tune answers` writes its weights", field="answers"
        )
    found = [_row(PROBABILITY, _values(pairs, told), calibrated=True)]
    if variants:
        found += [_row(f"{PROBABILITY}, {name}", _values(own, told), calibrated=True) for name, own in asked.items()]
        found += [_row(name, _values(pairs, score), calibrated=False) for name, score in BASELINES.items()]
    return found


def told(page: Results) -> float:
    """The probability that the page answers; one half where nothing is told, as of a claim whose words are looked up."""
    return UNTOLD if page.probability is None else page.probability


def _values(pairs: Sequence[AskedTwice], score: Callable[[Results], float]) -> Values:
    """Shape (2, claims): with the answers, and without."""
    return np.array([[score(item.held) for item in pairs], [score(item.taken_out) for item in pairs]])


def _row(system: str, values: Values, calibrated: bool) -> Report:
    measures = {AUROC: resampled(values, lambda own: auroc(own[0], own[1])).as_json()}
    if calibrated:
        measures[ECE] = resampled(values, lambda own: calibration_error(own.ravel(), _happened(own))).as_json()
    return {"system": system, "measures": measures}


def _happened(values: Values) -> Values:
    return np.repeat([1.0, 0.0], values.shape[1])


def _reliability(pairs: Sequence[AskedTwice]) -> list[Report]:
    values = _values(pairs, told)
    found = reliability(values.ravel(), _happened(values))
    return [{"mean": round(item.mean, 6), "share": round(item.share, 6), "count": item.count} for item in found]


SUITE: Final = Suite(
    NAME,
    "whether an answer tells that nothing in the collection answers",
    quick=False,
    standalone=NothingHereSuite(),
)
