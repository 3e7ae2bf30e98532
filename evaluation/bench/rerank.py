"""`medley bench rerank`: the cross-encoder on this project's runtime and in sentence-transformers.

Both run the same weights, restored from the artifact, on the same texts at the same lengths, in turns within one run;
a figure is the median over the rounds. sentence-transformers sorts by length and gets all inputs at once, its best case.
Of a cross-encoder whose head it does not know it runs the backbone under a plain one; the agreement is then with torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from encoders.runtime import CrossEncoder
from evaluation.bench.shared.figures import Report
from evaluation.bench.shared.models import REFERENCE, RERANKER, model_report, open_artifact, speed_figures
from evaluation.bench.shared.reference import exact_scores, open_reference
from evaluation.bench.shared.workload import QUERIES, passages, run_in_turns, spearman
from search.settings import Settings

TEXTS: Final = 96
BATCH: Final = 32


def bench_rerank(settings: Settings) -> Report:
    """Pairs per second of the cross-encoder, `speed_ratio` to sentence-transformers, and the agreement of scores."""
    artifact = open_artifact(settings, settings.reranker or RERANKER, "cross-encoder")
    share = TEXTS // len(QUERIES)
    work = [(query, passages(share, seed)) for seed, query in enumerate(QUERIES)]
    pairs = [(query, text) for query, texts in work for text in texts]
    models = {form: CrossEncoder(artifact, settings.threads or None, form) for form in artifact.processor_forms}

    def ours(model: CrossEncoder) -> Any:
        return np.concatenate([model.score(query, texts) for query, texts in work])

    with open_reference(artifact) as theirs:
        runs: dict[str, Callable[[], Any]] = {form: partial(ours, model) for form, model in models.items()}
        runs[REFERENCE] = partial(theirs.predict, pairs, batch_size=BATCH, show_progress_bar=False)
        seconds, answers = run_in_turns(runs)
    chosen = CrossEncoder(artifact, settings.threads or None, settings.form or None).form
    agreement = spearman(answers[chosen], exact_scores(artifact, pairs, answers[REFERENCE]))
    figures = speed_figures(seconds, chosen, TEXTS) | {"spearman": agreement}
    return model_report("rerank", artifact, chosen, pairs, figures)
