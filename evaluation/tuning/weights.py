"""Fusion and reranking weights from judgements: a grid for the fusion, then one for the reranker's share.

Over an index with discourse vectors, the share of that leg is chosen between the two: beside the best two legs.

The legs and the cross-encoder run once per question; the grid is arithmetic on their scores, by the product's own `fuse`
and `combine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation import stages
from evaluation.corpus.index import open_corpus
from evaluation.measures import Measure, Values, parse, per_query
from evaluation.models import open_session, require_models
from evaluation.statistics import interval
from evaluation.suites import beir
from evaluation.suites import tuning_judgements as training
from evaluation.task import Task
from mappings.collection import DISCOURSE
from mappings.errors import InvalidInput
from mappings.stages import Fusion
from search.pipeline.retrieve import Retrieved
from search.ranking.candidates import Candidate
from search.ranking.cascade import StageScores, combine
from search.ranking.fusion import fuse
from search.settings import Settings

Report = dict[str, Any]
ScoredOrder = tuple[list[Candidate], StageScores]
"""A fused order, with the reranker's scores of its best candidates."""
MEASURE: Final = "nDCG@10"
SHARES: Final = tuple(round(0.05 * step, 2) for step in range(21))
METHODS: Final = (("weighted", "minmax"), ("weighted", "zscore"), ("weighted", "floor"), ("rrf", "minmax"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task whose legs are ranked: one entry per question, in order."""

    session: stages.Session
    retrieved: tuple[Retrieved, ...]

    @property
    def task(self) -> Task:
        """The task."""
        return self.session.task


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """`folder` tunes on judgements of your own (`split` of a BEIR folder) instead of the training data."""

    folder: Path | None = None
    split: str = "train"
    rerank: bool = True
    queries: int | None = None

    def __post_init__(self) -> None:
        if self.queries is not None and self.queries < 1:
            raise InvalidInput(f"queries is {self.queries}; a sample has 1 or more", field="queries")


def run(
    kind: str, settings: Settings, options: TuningOptions | None = None, progress: stages.Progress | None = None
) -> Report:
    """Tune the weights of a collection kind; the report holds both grids and what was chosen.

    Raises `InvalidInput` for a kind without training judgements, and what reading the data raises.
    """
    options = options or TuningOptions()
    tasks = [task.sampled(options.queries) for task in _tasks(kind, settings, options)]
    require_models(tasks, settings, options.rerank)
    prepared = [prepare(task, settings, options, progress) for task in tasks]
    grid = [(fusion, _values(prepared, fusion)) for fusion in fusions()]
    best, _ = max(grid, key=lambda item: (round(float(item[1].mean()), 6), -distance(item[0])))
    further = [(fusion, _values(prepared, fusion)) for fusion in _with_discourse(prepared, best)]
    grid, best = grid + further, _better(further, best)
    shares = _shares(prepared, best, progress) if options.rerank and prepared[0].session.rerankers else []
    weight = max(shares, key=lambda item: (round(float(item[1].mean()), 6), -abs(item[0] - 0.5)))[0] if shares else None
    return {
        "tune": kind,
        "measure": MEASURE,
        "queries": sum(len(task.questions) for task in tasks),
        "grid": [describe_fusion(fusion) | {MEASURE: interval(values).as_json()} for fusion, values in grid],
        "rerank": [{"weight": share, MEASURE: interval(values).as_json()} for share, values in shares],
        "chosen": {"fusion": describe_fusion(best), "rerank": weight},
        "notes": [note for task in tasks for note in task.notes],
        "command": command(kind, options),
    }


def command(kind: str, options: TuningOptions) -> str:
    """The command line that prints this report."""
    words = [
        "medley tune",
        kind,
        *([f"--folder {options.folder.name} --split {options.split}"] if options.folder else []),
    ]
    words += [f"--queries {options.queries}"] if options.queries else []
    return " ".join(words if options.rerank else [*words, "--no-rerank"])


def fusions() -> Iterable[Fusion]:
    """The grid: the dense leg's share from 0 to 1, for each arithmetic."""
    for method, normalisation in METHODS:
        for share in SHARES:
            yield Fusion(method, normalisation, {stages.BM25: round(1 - share, 2), stages.DENSE: share})


def distance(fusion: Fusion) -> float:
    """From equal shares: of equally good fusions the more even one is safer."""
    return abs(fusion.weights[stages.DENSE] - 0.5)


def _with_discourse(prepared: Sequence[Prepared], best: Fusion) -> Iterable[Fusion]:
    """The best fusion without the leg `discourse`, and with each share of it; none where no question asks the leg."""
    asked = any(DISCOURSE in found.answer.rankings for item in prepared for found in item.retrieved)
    shares = SHARES[: len(SHARES) // 2 + 1] if asked else ()
    return [replace(best, weights=stages.weights_with(best.weights, share)) for share in shares]


def _better(grid: Sequence[tuple[Fusion, Values]], best: Fusion) -> Fusion:
    """The best of a grid by increasing shares, the lowest share of equally good ones; `best` if none is above the first."""
    if not grid:
        return best
    means = [round(float(values.mean()), 6) for _, values in grid]
    place = means.index(max(means))
    return grid[place][0] if place else best


def _tasks(kind: str, settings: Settings, options: TuningOptions) -> Sequence[Task]:
    if options.folder is not None:
        return [beir.task(options.folder, options.split, kind, settings.collections)]
    if kind not in training.KINDS:
        raise InvalidInput(
            f"there are no training judgements for {kind!r}, only for {', '.join(training.KINDS)}; "
            "give a folder in BEIR's form with --folder",
            field="kind",
        )
    return training.KINDS[kind](settings)


def prepare(task: Task, settings: Settings, options: TuningOptions, progress: stages.Progress | None) -> Prepared:
    """The task with its legs' rankings, without feedback: the corpus is indexed first if it is not yet."""
    session = open_session(open_corpus(task.corpus, settings), task, options.rerank)
    found = []
    for number, question in enumerate(task.questions, 1):
        # With feedback the legs would depend on the weights that are being tuned.
        found.append(stages.retrieve_question(session, question, feedback=False))
        if progress:
            progress(number, len(task.questions))
    return Prepared(session, tuple(found))


def _values(prepared: Sequence[Prepared], fusion: Fusion) -> Values:
    """The measure of every question of every task under a fusion, shape (questions,)."""
    return np.concatenate(
        [
            measure_orders(item.task, [fuse(found.answer.rankings, fusion) for found in item.retrieved])
            for item in prepared
        ]
    )


def measure_orders(task: Task, orders: Iterable[Iterable[Candidate]]) -> Values:
    """nDCG@10 of an order of candidates for each question of a task, shape (questions,)."""
    run = {question.id: stages.judged_keys(task, order) for question, order in zip(task.questions, orders, strict=True)}
    measure: Measure = parse(MEASURE)
    return per_query([measure], task.judgements, run)[measure]


def _shares(
    prepared: Sequence[Prepared], fusion: Fusion, progress: stages.Progress | None
) -> list[tuple[float, Values]]:
    """The measure of every question for each share of the reranker."""
    known = [score_orders(item, fusion, progress) for item in prepared]
    return [
        (share, np.concatenate([rerank_orders(item, own, share) for item, own in zip(prepared, known, strict=True)]))
        for share in SHARES
    ]


def score_orders(prepared: Prepared, fusion: Fusion, progress: stages.Progress | None = None) -> list[ScoredOrder]:
    """The fused order of each question of a task, with the reranker's scores."""
    known = []
    for number, found in enumerate(prepared.retrieved, 1):
        order = fuse(found.answer.rankings, fusion)
        known.append((order, stages.score_candidates(prepared.session, replace(found, candidates=order))))
        if progress:
            progress(number, len(prepared.retrieved))
    return known


def rerank_orders(prepared: Prepared, known: Sequence[ScoredOrder], share: float) -> Values:
    """nDCG@10 of each question of a task at a share of the reranker, shape (questions,)."""
    reranking = replace(prepared.session.collection.reranking, weight=share)
    return measure_orders(prepared.task, [combine(order, scores, reranking) for order, scores in known])


def describe_fusion(fusion: Fusion) -> Report:
    """A fusion in the JSON form of the report."""
    return {"method": fusion.method, "normalisation": fusion.normalisation, "weights": dict(fusion.weights)}


def toml(report: Mapping[str, Any]) -> str:
    """The content of `tuned.toml`: the chosen weights and the command that chose them."""
    fusion, share = report["chosen"]["fusion"], report["chosen"]["rerank"]
    weights = ", ".join(f"{leg} = {value:g}" for leg, value in fusion["weights"].items())
    lines = [
        f"# {report['command']}: {report['measure']} over {report['queries']} questions",
        "[fusion]",
        f'method = "{fusion["method"]}"',
        f'normalisation = "{fusion["normalisation"]}"',
        f"weights = {{ {weights} }}",
    ]
    return "\n".join([*lines, *(["", "[rerank]", f"weight = {share:g}"] if share is not None else []), ""])
