"""`medley bench encode`: the bi-encoder on this project's runtime and in sentence-transformers.

Both run the same weights as in `medley bench rerank`: on the same texts at the same lengths, in turns within one run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from encoders.pooling import Floats
from encoders.runtime import BiEncoder
from evaluation.bench.shared.figures import Report, percentiles, time_each
from evaluation.bench.shared.models import ENCODER, REFERENCE, model_report, open_artifact, speed_figures
from evaluation.bench.shared.reference import open_reference
from evaluation.bench.shared.workload import QUERIES, passages, run_in_turns, spearman
from search.settings import Settings

TEXTS: Final = 96
BATCH: Final = 32
SHORT_QUERIES: Final = 100


def bench_encode(settings: Settings) -> Report:
    """Passages per second of the bi-encoder, `speed_ratio`, agreement of similarities, and a short query's time."""
    artifact = open_artifact(settings, settings.encoder or ENCODER, "bi-encoder")
    texts = [f"{QUERIES[0]} {text}" for text in passages(TEXTS, seed=0)]
    models = {form: BiEncoder(artifact, settings.threads or None, form) for form in artifact.processor_forms}
    with open_reference(artifact) as theirs:
        runs: dict[str, Callable[[], Any]] = {
            form: partial(model.encode_passages, texts) for form, model in models.items()
        }
        runs[REFERENCE] = partial(theirs.encode, texts, batch_size=BATCH, show_progress_bar=False)
        seconds, answers = run_in_turns(runs)
    chosen = BiEncoder(artifact, settings.threads or None, settings.form or None)
    figures = speed_figures(seconds, chosen.form, TEXTS) | {
        "spearman": spearman(_similarities(answers[chosen.form]), _similarities(answers[REFERENCE])),
        **_query_times(chosen),
    }
    return model_report("encode", artifact, chosen.form, [("", text) for text in texts], figures)


def _similarities(vectors: Floats) -> Floats:
    return np.asarray((vectors @ vectors.T)[np.triu_indices(len(vectors), 1)])


def _query_times(encoder: BiEncoder) -> dict[str, float]:
    queries = [f"{QUERIES[number % len(QUERIES)]} {number}" for number in range(SHORT_QUERIES)]
    times, _ = time_each(lambda query: encoder.encode_queries([query]), queries)
    return {f"query_{name}": value for name, value in percentiles(times).items() if name.endswith("_ms")}
