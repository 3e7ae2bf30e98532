"""`medley bench cascade`: two stages of reranking beside the large cross-encoder alone, in quality and in time.

Both order the same candidates of SciFact's development claims. Quality is over all claims; the time is that of the
cross-encoders alone, in turns on a fixed sample, with nothing cached between them.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from evaluation import stages
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.index import open_corpus
from evaluation.measures import Values, parse, per_query
from evaluation.models import open_rerankers
from evaluation.run import bench
from evaluation.statistics import compare
from evaluation.suites import scifact
from evaluation.task import Task
from mappings import collection as kinds
from mappings.errors import InvalidInput, ModelError
from search.query import Scored
from search.ranking import cascade
from search.ranking.anytime import Anytime, Pace, ScoreCache
from search.ranking.cascade import Stages
from search.ranking.fusion import Fused
from search.settings import Settings

MEASURE: Final = "nDCG@10"
SAMPLE: Final = 40
SEED: Final = 20_120_717


def bench_cascade(settings: Settings) -> Report:
    """nDCG@10 of both with the difference's interval, and `speed_ratio`: the large one's time over the cascade's.

    Raises `InvalidInput` where abstracts are reranked in one stage only, `ModelError` for a missing model, and what
    reading the data raises.
    """
    task = scifact.task(settings)
    _require_both(task, settings)
    asked = bench(open_corpus(task.corpus, settings), task, True)
    prepared = [stages.legs(asked, question) for question in task.questions]
    orders = [stages.fused(legs, asked.collection.fusion) for legs in prepared]
    ways = {"cascade": asked, "full": replace(asked, rerankers=asked.rerankers and Stages(asked.rerankers.last))}
    values = {name: _values(way, prepared, orders) for name, way in ways.items()}
    found = compare(values["cascade"], values["full"])
    reranking = asked.collection.reranking
    figures = {
        f"cascade_{MEASURE}": float(values["cascade"].mean()),
        f"full_{MEASURE}": float(values["full"].mean()),
        "difference": found.difference.value,
        "difference_low": found.difference.low,
        "difference_high": found.difference.high,
        "queries": float(len(orders)),
        "candidates": float(settings.candidates or reranking.candidates),
        "keep": float(reranking.first.keep if reranking.first else 0),
        **_speed(asked, prepared, orders),
    }
    return bench_report("cascade", figures, _models(asked))


def _require_both(task: Task, settings: Settings) -> None:
    """Raise where there are no two stages, before minutes of indexing."""
    if settings.reranker:
        raise InvalidInput(
            f"MEDLEY_RERANKER ({settings.reranker}) replaces both stages that this bench measures: unset it",
            field="MEDLEY_RERANKER",
        )
    collection = kinds.load(task.corpus.name, task.corpus.kind, settings.collections)
    found = open_rerankers(collection, settings)
    if found is not None and found.missing:
        raise ModelError(f"the first of the two stages is missing: {found.missing}", field="rerank.first")
    if found is None or found.first is None:
        raise InvalidInput("abstracts are reranked in one stage: `rerank.first` of the collection's kind names the other", field="rerank.first")  # fmt: skip


def _values(asked: stages.Bench, prepared: Sequence[stages.Legs], orders: Sequence[list[Fused]]) -> Values:
    run = {}
    for legs, order in zip(prepared, orders, strict=True):
        scores = stages.scores(asked, legs, order)
        ranked = cascade.combine(order, scores, asked.collection.reranking)
        items = (Scored(item.fused.passage, item.fused.document, item.score) for item in ranked)
        run[legs.question.id] = stages.keys(asked.task, items)
    measure = parse(MEASURE)
    return per_query([measure], asked.task.judgements, run)[measure]


def _speed(asked: stages.Bench, prepared: Sequence[stages.Legs], orders: Sequence[list[Fused]]) -> dict[str, float]:
    """Milliseconds a query of both ways, medians over a sample, and the ratio of their sums."""
    both = asked.medley.stages(asked.collection)
    if both is None:
        return {}
    reranking = asked.collection.reranking
    times: dict[str, list[float]] = {"cascade": [], "full": []}
    chosen = random.Random(SEED).sample(range(len(orders)), min(SAMPLE + 1, len(orders)))  # noqa: S311
    for place, number in enumerate(chosen):
        window, passages = stages.window(asked, orders[number])
        for name, first in (("full", None), ("cascade", both.first)):
            stage = Stages(_fresh(both.last), _fresh(first) if first else None)
            started = time.perf_counter()
            cascade.read(stage, reranking, prepared[number].understood.model_text, window, passages, None)
            if place:  # the first one warms up
                times[name].append(1000 * (time.perf_counter() - started))
    medians = {f"{name}_p50_ms": statistics.median(found) for name, found in times.items()}
    return medians | {"speed_ratio": sum(times["full"]) / sum(times["cascade"]), "timed_queries": len(times["full"])}


def _fresh(anytime: Anytime) -> Anytime:
    """The same model with an empty cache."""
    return Anytime(anytime.reranker, ScoreCache(), Pace())


def _models(asked: stages.Bench) -> Mapping[str, Any]:
    reranking = asked.collection.reranking
    return {"model": reranking.model, "first": reranking.first.model if reranking.first else ""}
