"""`medley bench poly`: a poly-encoder over stored token vectors beside the cross-encoder, time per passage in one run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from encoders.artifact import Artifact, find
from encoders.onnx import ort
from encoders.poly import PolyEncoder
from encoders.runtime import CrossEncoder
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.models import RERANKER, model_folders, open_artifact
from evaluation.bench.shared.workload import QUERIES, passages, run_in_turns
from mappings.errors import ModelError
from search.settings import Settings

POLY: Final = "medley-polyencoder"
TEXTS: Final = 64
"""The number of candidates in CAPR's protocol."""


def bench_poly(settings: Settings) -> Report:
    """Milliseconds per passage of both, the query's encoding included, and `speed_ratio`, the cross-encoder's over the poly-encoder's.

    The poly-encoder is `MEDLEY_RERANKER` or `medley-polyencoder`, the cross-encoder the shipped one. `encode_ms` is what
    a passage's token vectors cost once, `stored_kb` what they take in half precision. Raises `ModelError` for a missing
    model, `InvalidInput` for one of another kind.
    """
    poly = _poly(settings)
    cross = open_artifact(settings, RERANKER, "cross-encoder")
    threads, form = settings.threads or None, settings.form or None
    quick, slow = PolyEncoder(poly, threads, form), CrossEncoder(cross, threads, form)
    texts = passages(TEXTS, seed=0)
    stored = quick.encode_passages(texts)
    runs: dict[str, Callable[[], Any]] = {
        "cross": lambda: [slow.score(query, texts) for query in QUERIES],
        "poly": lambda: [quick.score(quick.encode_query(query), stored) for query in QUERIES],
        "encode": partial(quick.encode_passages, texts),
    }
    seconds, _ = run_in_turns(runs)
    pairs = TEXTS * len(QUERIES)
    figures = {
        "speed_ratio": seconds["cross"] / seconds["poly"],
        "cross_ms": 1000 * seconds["cross"] / pairs,
        "poly_ms": 1000 * seconds["poly"] / pairs,
        "encode_ms": 1000 * seconds["encode"] / TEXTS,
        "stored_kb": float(np.mean([2 * tokens.size / 1000 for tokens in stored])),
        "candidates": float(TEXTS),
    }
    about = {"model": poly.name, "form": quick.form, "beside": cross.name, "beside_form": slow.form}
    return bench_report("poly", figures, {**about, "onnxruntime": ort.__version__})


def _poly(settings: Settings) -> Artifact:
    name = settings.reranker or POLY
    try:
        find(name, model_folders(settings))
    except ModelError:
        raise ModelError(
            f"there is no poly-encoder {name!r}, and none is shipped: train it by `medley train {POLY}`, export it, "
            "and name it by MEDLEY_RERANKER",
            field="MEDLEY_RERANKER",
        ) from None
    return open_artifact(settings, name, "poly-encoder")
