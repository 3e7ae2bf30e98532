"""`medley bench scale`: a hybrid search of the embedded engine over any number of windows, and what it takes.

SciFact's claims over its abstracts and documents made of them by program (`evaluation.bench.shared.scaled`), window 100,
encoding included, without reranking, in a process of its own. `recall` is the share of the first 100 documents by exact
float32 products that the leg of vectors returns. Of a large collection cells are made after the first search, in the
background (`prepare_seconds`); the others are measured with them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.bench.shared.apart import WARM_UP, measure_apart
from evaluation.bench.shared.figures import Report, bench_report, memory, percentiles, time_each
from evaluation.bench.shared.scaled import NAME, build_seconds, open_scaled, place
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.engines.embedded.vectors.cells import await_cells
from search.pipeline.search import search
from search.protocols import BM25, LegsRequest
from search.query import Query
from search.settings import Settings, read
from search.understanding.understand import understand

DEPTH: Final = 100
EXACT_QUERIES: Final = 60
WINDOWS: Final = 100_000
_BLOCK: Final = 65_536
_ROUNDING: Final = 1e-5


def bench_scale(settings: Settings, windows: int = WINDOWS) -> Report:
    """Times, resident memory, recall, the legs apart, and the seconds until a new process has answered its first search.

    A collection that is there is used again; `build_seconds` is what it took when it was made.
    """
    task = scifact.task(settings)
    medley, exact = open_scaled(settings, task, windows)
    figures = measure_apart(__name__, str(windows), NAME, settings)
    meta = medley.engine.resolve(NAME)
    files = sum(item.stat().st_size for item in exact.parent.rglob("*") if item.is_file()) - exact.stat().st_size
    figures |= {
        "documents": float(meta.documents),
        "windows": float(meta.rows),
        "disk_mb": files / 1e6,
        "build_seconds": build_seconds(settings, windows),
    }
    return bench_report("scale", figures)


def _measure(settings: Settings, windows: int) -> dict[str, float]:
    chosen = place(settings, windows)
    medley = Medley.open(chosen)
    services = replace(medley.services, store=None)  # documents made by program have no store
    claims = [question.text for question in scifact.task(settings).questions]
    warm = [question.text for question in scifact.task(settings, split="train").questions][: WARM_UP + 1]

    def answer(text: str) -> Any:
        return search(Query(NAME, ACCESS, text, rerank=False), services)

    (first,), _ = time_each(answer, warm[:1])
    started = time.perf_counter()
    await_cells()
    prepared = time.perf_counter() - started
    time_each(answer, warm[1:])
    times, answers = time_each(answer, claims)
    steps = {
        f"{name}_p50_ms": float(np.median([item.timings_ms.get(name, 0.0) for item in answers]))
        for name in ("encode", "legs")
    }
    return (
        percentiles(times)
        | steps
        | memory()
        | {"first_ms": first, "prepare_seconds": prepared}
        | _legs(medley, claims, chosen.home)
    )


def _legs(medley: Medley, claims: Sequence[str], folder: Path) -> dict[str, float]:
    """Each leg's time alone, and the recall of the vectors' leg."""
    meta = medley.engine.resolve(NAME)
    (encoder,) = medley.models.encoders(medley.collections.get(NAME)).values()
    vectors = encoder.encode_queries(claims)
    empty = understand(Query(NAME, ACCESS, "?")).lexical
    asked = [understand(Query(NAME, ACCESS, text)).lexical for text in claims]
    places = [*map(str, range(len(claims)))]

    def by_words(place: str) -> Any:
        return medley.engine.legs(LegsRequest(meta.index, asked[int(place)], {}, ACCESS, DEPTH))

    def by_vectors(place: str) -> list[str]:
        answer = medley.engine.legs(LegsRequest(meta.index, empty, {"dense": vectors[int(place)]}, ACCESS, DEPTH))
        return list(dict.fromkeys(item.document for item in answer.rankings["dense"]))

    words, _ = time_each(by_words, places)
    nearest, found = time_each(by_vectors, places)
    exact = _best_products(vectors[:EXACT_QUERIES], folder)
    shares = [_recall(own[:DEPTH], best) for own, best in zip(found, exact, strict=False)]
    return {
        f"{BM25}_p50_ms": float(np.median(words)),
        "dense_p50_ms": float(np.median(nearest)),
        "recall": float(np.mean(shares)),
    }


def _recall(found: Sequence[str], products: Any) -> float:
    """The share of the first 100 that was found; any of those that tie with the last of them counts."""
    least = np.partition(products, -DEPTH)[-DEPTH] - _ROUNDING
    return float(np.mean([products[int(name[1:])] >= least for name in found]))


def _best_products(queries: Any, folder: Path) -> Any:
    """The product of each query with each document's best row, shape (queries, documents), all rows compared."""
    numbers = np.load(folder / "rows.npy")
    rows = np.memmap(folder / "exact.f16", np.float16, "r").reshape(len(numbers), -1)
    best = np.full((len(queries), int(numbers[-1]) + 1), -np.inf, np.float32)
    for start in range(0, len(rows), _BLOCK):
        products = np.asarray(rows[start : start + _BLOCK]).astype(np.float32) @ queries.T
        own = numbers[start : start + _BLOCK]
        begins = np.flatnonzero(np.r_[True, own[1:] != own[:-1]])
        found = np.maximum.reduceat(products, begins, axis=0)
        names = own[begins]
        best[:, names] = np.maximum(best[:, names], found.T)
    return best


if __name__ == "__main__":
    import json
    import sys

    try:
        json.dump(_measure(read(), int(sys.argv[1])), sys.stdout)
    except MedleyError as problem:
        sys.exit(problem.message)
