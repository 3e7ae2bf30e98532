"""`medley bench poly`: a poly-encoder over stored token vectors beside the bi- and the cross-encoder: time, size, agreement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from encoders.artifact import Artifact, find
from encoders.onnx import ort
from encoders.poly import PolyEncoder
from encoders.pooling import Floats
from encoders.runtime import BiEncoder, CrossEncoder
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.models import ENCODER, RERANKER, model_folders, open_artifact
from evaluation.bench.shared.token_forms import forms
from evaluation.bench.shared.workload import QUERIES, ROUNDS, SENTENCES, passages, spearman
from mappings.errors import ModelError
from search.settings import Settings

POLY: Final = "medley-polyencoder"
TEXTS: Final = 64
"""The number of candidates in CAPR's protocol."""
COUNTS: Final = (16, 64, 256, 1024, 2048)
"""Passages of one query, as in CAPR's figure of latencies."""
_SAMPLE: Final = 32
"""Further passages, of which the directions for the forms come."""


def bench_poly(settings: Settings) -> Report:
    """Milliseconds of a query by number of passages, of three models, and `speed_ratio` for the largest number.

    `poly_ms_N` is the median of five queries with their encoding, over token vectors as an index stores them, `bi_ms_N` the
    same of the shipped bi-encoder over a vector for each passage; `cross_ms_N` is one query. `poly_ms` and `cross_ms` are for
    a passage. `encode_ms` is what indexing a passage costs, `stored_kb` what it
    takes in the index. `spearman_FORM` and `first_FORM` are how well the scores of other forms agree with those of
    the vectors themselves among 64 candidates, in order and in the first one, `kb_FORM` their size.

    The poly-encoder is `MEDLEY_RERANKER` or `medley-polyencoder`, the cross-encoder the shipped one. Raises `ModelError` for
    a missing model, `InvalidInput` for one of another kind.
    """
    poly = _poly(settings)
    cross = open_artifact(settings, RERANKER, "cross-encoder")
    threads, form = settings.threads or None, settings.form or None
    quick, slow = PolyEncoder(poly, threads, form), CrossEncoder(cross, threads, form)
    texts = passages(max(COUNTS), seed=0)
    quick.compress_passages(texts[:4])  # a model's first run is slow
    started = time.perf_counter()
    stored = quick.compress_passages(texts[:TEXTS])
    encoding = (time.perf_counter() - started) / len(stored)
    # Later passages only have the lengths and contents of earlier ones: the time is the same.
    many = [stored[number % len(stored)] for number in range(len(texts))]
    curve = {f"poly_ms_{count}": 1000 * _time_poly(quick, many[:count]) for count in COUNTS}
    slow.score(QUERIES[0], texts[:4])
    curve |= {f"bi_ms_{count}": 1000 * seconds for count, seconds in _time_bi(settings, texts[:TEXTS]).items()}
    curve |= {f"cross_ms_{count}": 1000 * seconds for count, seconds in _time_cross(slow, texts).items()}
    most = max(COUNTS)
    figures = {
        "speed_ratio": curve[f"cross_ms_{most}"] / curve[f"poly_ms_{most}"],
        "cross_ms": curve[f"cross_ms_{most}"] / most,
        "poly_ms": curve[f"poly_ms_{most}"] / most,
        "encode_ms": 1000 * encoding,
        "stored_kb": float(np.mean([len(content) for content in stored])) / 1000,
        "candidates": float(TEXTS),
        **curve,
        **_agreement(quick, texts[: TEXTS + _SAMPLE], stored),
    }
    about = {"model": poly.name, "form": quick.form, "codec": quick.format.codec, "beside": cross.name}
    return bench_report("poly", figures, {**about, "beside_form": slow.form, "onnxruntime": ort.__version__})


def _time_poly(encoder: PolyEncoder, stored: Sequence[bytes]) -> float:
    """The median seconds of a query over passages whose token vectors are stored, its encoding included."""
    times = []
    for number in range(ROUNDS + 1):
        started = time.perf_counter()
        encoder.score_compressed(encoder.encode_query(QUERIES[number % len(QUERIES)]), stored)
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def _time_bi(settings: Settings, texts: Sequence[str]) -> dict[int, float]:
    """The median seconds of a query, its encoding included, by the number of passages whose vectors are compared."""
    encoder = BiEncoder(open_artifact(settings, ENCODER, "bi-encoder"), settings.threads or None, settings.form or None)
    own, found = encoder.encode_passages(texts), {}
    many = np.resize(own, (max(COUNTS), own.shape[1]))
    for count in COUNTS:
        times = []
        for number in range(ROUNDS + 1):
            started = time.perf_counter()
            _ = many[:count] @ encoder.encode_queries([QUERIES[number % len(QUERIES)]])[0]
            times.append(time.perf_counter() - started)
        found[count] = float(np.median(times[1:]))
    return found


def _time_cross(encoder: CrossEncoder, texts: Sequence[str]) -> dict[int, float]:
    """Seconds of one query over the first of `texts`, by their number; each text is read once."""
    spent, found, first = 0.0, {}, 0
    for count in COUNTS:
        started = time.perf_counter()
        encoder.score(QUERIES[0], texts[first:count])
        spent, first = spent + time.perf_counter() - started, count
        found[count] = spent
    return found


def _agreement(encoder: PolyEncoder, texts: Sequence[str], stored: Sequence[bytes]) -> dict[str, float]:
    """How far the scores of each form, and of what an index stores, agree with those of the vectors, and the sizes."""
    tokens = encoder.encode_passages(texts)
    asked = encoder.encode_queries([*QUERIES, *SENTENCES])
    own = tokens[: len(stored)]
    exact = [encoder.score(query, own) for query in asked]
    kept = [encoder.score_compressed(query, stored) for query in asked]
    found = dict(_compare("stored", exact, kept))
    for name, form in forms(tokens[len(stored) :]).items():
        read = [form(item) for item in own]
        scores = [encoder.score(query, [vectors for vectors, _ in read]) for query in asked]
        found |= {f"kb_{name}": float(np.mean([size for _, size in read])) / 1000, **_compare(name, exact, scores)}
    return found


def _compare(name: str, exact: Sequence[Floats], scores: Sequence[Floats]) -> Mapping[str, float]:
    pairs = list(zip(exact, scores, strict=True))
    measures: dict[str, Callable[[Floats, Floats], float]] = {
        "spearman": spearman,
        "first": lambda left, right: float(left.argmax() == right.argmax()),
    }
    return {f"{key}_{name}": float(np.mean([measure(*pair) for pair in pairs])) for key, measure in measures.items()}


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
