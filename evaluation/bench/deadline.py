"""`medley bench deadline`: how fast a search is, and how much it reranks, within a deadline of 100 ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from evaluation.bench.shared.apart import measure_apart, prepare_collection, run_measurement
from evaluation.bench.shared.figures import Report, bench_report, memory, percentiles, time_each
from evaluation.stages import ACCESS
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings

DEADLINE_MS: Final = 100
CANDIDATES: Final = 100


def bench_deadline(settings: Settings) -> Report:
    """The collection of `medley bench search` with a reranking deadline of 100 ms on 100 candidates."""
    task = prepare_collection(settings)
    settings = replace(settings, candidates=CANDIDATES)
    return bench_report("deadline", measure_apart(__name__, "deadline", task.corpus.name, settings))


def _measure(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    def answer(text: str) -> Any:
        return medley.search(Query(name, ACCESS, text, deadline_ms=DEADLINE_MS))

    time_each(answer, warm)
    times, answers = time_each(answer, queries)
    partial = [item for item in answers if item.reranked.is_partial]
    return {
        **percentiles(times),
        **memory(),
        "partial_share": len(partial) / len(answers),
        "marked_share": float(np.mean([bool(item.partial) for item in partial] or [True])),
        "reranked_mean": float(np.mean([item.reranked.scored for item in answers])),
        "candidates": float(max(item.reranked.candidates for item in answers)),
    }


if __name__ == "__main__":
    run_measurement({"deadline": _measure})
