"""`medley bench anytime`: how much of the reranked order a deadline leaves on this machine, in whole searches.

Every deadline starts with nothing scored and nothing cached, except for the pace that a few warm-up searches teach.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evaluation.bench.shared.apart import WARM_UP
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.corpus.index import home, open_corpus
from evaluation.measures import parse, per_query
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from evaluation.task import Question, Task
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.pipeline.results import Results
from search.query import Query
from search.settings import Settings

MEASURE: Final = "nDCG@10"
DEADLINES: Final = (100, 250, 500, 1000)
"""Milliseconds; measured beside fusion alone and reranking without a deadline."""
SAMPLE: Final = 100


def bench_anytime(settings: Settings) -> Report:
    """nDCG@10, times and scored candidates of a fixed sample of SciFact's development claims, by deadline.

    Without a deadline words alone choose the evidence sentences; within one the cross-encoder chooses, too: its times are
    not comparable with the others'. `share_kept_N` is the share of the gain over fusion that a deadline of N ms keeps; it
    is absent where there is no gain.

    Raises `InvalidInput` where nothing is reranked, and what reading the data raises.
    """
    settings = replace(settings, opensearch="")
    task = scifact.task(settings).sampled(SAMPLE)
    warm = scifact.task(settings, split="train").questions[:WARM_UP]
    medley = open_corpus(task.corpus, settings)
    stages = medley.models.rerank_stages(medley.collections.get(task.corpus.name))
    if stages is None:
        raise InvalidInput("nothing is reranked here, so no deadline cuts it short", field="reranker")
    fused, full = _figures(task, warm, settings, rerank=False), _figures(task, warm, settings, deadline_ms=0)
    figures = {"queries": float(len(task.questions))} | _named("fused", fused)
    gain = full[MEASURE] - fused[MEASURE]
    for milliseconds in DEADLINES:
        found = _figures(task, warm, settings, deadline_ms=milliseconds)
        figures |= _named(f"{milliseconds}", found)
        if gain > 0:
            figures[f"share_kept_{milliseconds}"] = (found[MEASURE] - fused[MEASURE]) / gain
    figures |= _named("none", full)
    return bench_report("anytime", figures)


def _named(suffix: str, figures: dict[str, float]) -> dict[str, float]:
    return {f"{name}_{suffix}": value for name, value in figures.items() if name != "queries"}


def _figures(
    task: Task, warm: Sequence[Question], settings: Settings, rerank: bool = True, deadline_ms: int = 0
) -> dict[str, float]:
    """Figures for one deadline, where 0 is none, by a Medley with empty caches."""
    medley = Medley.open(home(settings))

    def answer(question: Question) -> Results:
        return medley.search(
            Query(task.corpus.name, ACCESS, question.text, rerank=rerank, deadline_ms=deadline_ms if rerank else None)
        )

    for question in warm:
        answer(question)
    times, run, scored = [], {}, []
    for question in task.questions:
        started = time.perf_counter()
        found = answer(question)
        times.append(1000 * (time.perf_counter() - started))
        run[question.id] = [hit.document for hit in found.hits]
        scored.append(found.reranked.scored)
    measure = parse(MEASURE)
    value = float(per_query([measure], task.judgements, run)[measure].mean())
    return {MEASURE: value, **percentiles(times), "reranked": float(np.mean(scored))}
