"""`medley bench claims`: how long a page takes that is reranked, and read for what each hit says of a news claim.

The claims are Check-COVID's, over its abstracts and the 39k others, with the deadlines of the kind. `over_deadline_ms` is
how far the 95th percentile lies above the deadline of reranking; `batch_seconds` is for twenty claims that nobody asked
before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from evaluation.bench.shared.apart import WARM_UP
from evaluation.bench.shared.figures import Report, bench_report, percentiles, time_each
from evaluation.corpus.index import home, open_corpus
from evaluation.stages import ACCESS
from evaluation.suites import check_covid
from search.bootstrap import Medley
from search.pipeline.results import Results
from search.query import Query
from search.settings import Settings

BATCH: Final = 20


def bench_claims(settings: Settings) -> Report:
    """Times of pages of ten with stances and without them, how many hits were read, and the seconds of a batch."""
    settings = replace(settings, opensearch="")
    task = check_covid.task(settings, distractors=True)
    open_corpus(task.corpus, settings)
    medley, name = Medley.open(home(settings)), task.corpus.name
    texts = [question.text for question in task.questions]
    warm, batch, asked = texts[:WARM_UP], texts[WARM_UP : WARM_UP + BATCH], texts[WARM_UP + BATCH :]
    # Half of the claims each: what was read once is remembered.
    plain, read = asked[::2], asked[1::2]
    _ask(medley, name, warm, stances=True)
    seconds = time.perf_counter()
    _ask(medley, name, batch, stances=True)
    seconds = time.perf_counter() - seconds
    without, _ = _ask(medley, name, plain, stances=False)
    times, answers = _ask(medley, name, read, stances=True)
    deadline = medley.collections.get(name).reranking.deadline_ms
    shown = [hit for answer in answers for hit in answer.hits]
    figures = {f"plain_{key}": value for key, value in percentiles(without).items()} | percentiles(times)
    return bench_report(
        "claims",
        {
            **figures,
            "deadline_ms": float(deadline),
            "over_deadline_ms": float(np.percentile(times, 95)) - deadline,
            "read_share": sum(hit.stance is not None for hit in shown) / max(1, len(shown)),
            "reranked_share": float(
                np.mean([item.reranked.closely / max(1, item.reranked.wanted) for item in answers])
            ),
            "batch_seconds": seconds,
        },
    )


def _ask(medley: Medley, name: str, texts: Sequence[str], stances: bool) -> tuple[Sequence[float], list[Results]]:
    return time_each(lambda text: medley.search(Query(name, ACCESS, text, stances=stances)), texts)
