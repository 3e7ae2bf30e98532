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
from evaluation.corpus.index import open_corpus
from evaluation.measures import Values, parse, per_query
from evaluation.models import open_rerankers, open_session
from evaluation.statistics import compare
from evaluation.suites import scifact
from evaluation.task import Task
from mappings import collection as kinds
from mappings.errors import InvalidInput, ModelError
from search.pipeline.rerank import drop_inaccessible, rerank_window, wording
from search.pipeline.retrieve import Retrieved
from search.ranking import cascade
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
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
    session = open_session(open_corpus(task.corpus, settings), task, True)
    prepared = [stages.retrieve_question(session, question) for question in task.questions]
    ways = {
        "cascade": session,
        "full": replace(session, rerankers=session.rerankers and RerankStages(session.rerankers.last)),
    }
    values = {name: _values(way, prepared) for name, way in ways.items()}
    found = compare(values["cascade"], values["full"])
    reranking = session.collection.reranking
    figures = {
        f"cascade_{MEASURE}": float(values["cascade"].mean()),
        f"full_{MEASURE}": float(values["full"].mean()),
        "difference": found.difference.value,
        "difference_low": found.difference.low,
        "difference_high": found.difference.high,
        "queries": float(len(prepared)),
        "candidates": float(settings.candidates or reranking.candidates),
        "keep": float(reranking.first.keep if reranking.first else 0),
        **_speed(session, prepared),
    }
    return bench_report("cascade", figures, _models(session))


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


def _values(session: stages.Session, prepared: Sequence[Retrieved]) -> Values:
    run = {}
    for question, retrieved in zip(session.task.questions, prepared, strict=True):
        scores = stages.score_candidates(session, retrieved)
        ranked = cascade.combine(retrieved.candidates, scores, session.collection.reranking)
        run[question.id] = stages.judged_keys(session.task, ranked)
    measure = parse(MEASURE)
    return per_query([measure], session.task.judgements, run)[measure]


def _speed(session: stages.Session, prepared: Sequence[Retrieved]) -> dict[str, float]:
    """Milliseconds a query of both ways, medians over a sample, and the ratio of their sums."""
    both = session.medley.models.rerank_stages(session.collection)
    if both is None:
        return {}
    reranking = session.collection.reranking
    times: dict[str, list[float]] = {"cascade": [], "full": []}
    chosen = random.Random(SEED).sample(range(len(prepared)), min(SAMPLE + 1, len(prepared)))  # noqa: S311
    for place, number in enumerate(chosen):
        retrieved = prepared[number]
        window, _ = drop_inaccessible(retrieved, rerank_window(retrieved, session.services))
        texts = retrieved.contents.passages([item.passage for item in window])
        passages = [texts[item.passage] for item in window]
        for name, first in (("full", None), ("cascade", both.first)):
            stage = RerankStages(_fresh(both.last), _fresh(first) if first else None)
            started = time.perf_counter()
            cascade.score_window(stage, reranking, wording(retrieved), window, passages, None)
            if place:  # the first one warms up
                times[name].append(1000 * (time.perf_counter() - started))
    medians = {f"{name}_p50_ms": statistics.median(found) for name, found in times.items()}
    return medians | {"speed_ratio": sum(times["full"]) / sum(times["cascade"]), "timed_queries": len(times["full"])}


def _fresh(anytime: AnytimeReranker) -> AnytimeReranker:
    """The same model with an empty cache."""
    return AnytimeReranker(anytime.reranker, ScoreCache(), Pace())


def _models(session: stages.Session) -> Mapping[str, Any]:
    reranking = session.collection.reranking
    return {"model": reranking.model, "first": reranking.first.model if reranking.first else ""}
