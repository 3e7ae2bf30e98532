"""`medley bench scale`: a hybrid search of the embedded engine over any number of windows, and what it takes.

SciFact's claims over its abstracts and documents made of them by program (`evaluation.bench.shared.scaled`), window 100,
encoding included, without reranking, in a process of its own. `recall` is the share of the first 100 documents by exact
float32 products that the leg of vectors returns. Of a large collection cells are made after the first search, in the
background (`prepare_seconds`); the others are measured with them. `filter_NAME_…` are the same searches where all documents
pass a filter, a tenth of them or one; `clients_4_…` those of four clients at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from evaluation.bench.shared.apart import WARM_UP, measure_apart
from evaluation.bench.shared.figures import Report, bench_report, memory, percentiles, time_each
from evaluation.bench.shared.scaled import (
    ALONE_SOURCE,
    FIRST_YEAR,
    NAME,
    YEARS,
    build_seconds,
    open_scaled,
    place,
)
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.engines.embedded.vectors.cells import await_cells
from search.pipeline.search import search
from search.protocols import BM25, LegsRequest
from search.query import Filter, Query, Range, Terms
from search.settings import Settings, read
from search.understanding.understand import understand

DEPTH: Final = 100
EXACT_QUERIES: Final = 60
WINDOWS: Final = 100_000
FILTERS: Final[Mapping[str, Filter]] = {
    "all": Range("year", FIRST_YEAR),
    "tenth": Range("year", FIRST_YEAR + YEARS - YEARS // 10),
    "one": Terms("source", (ALONE_SOURCE,)),
}
CLIENTS: Final = 4
FILTERED_QUERIES: Final = 100
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

    def answer(text: str, filters: tuple[Filter, ...] = ()) -> Any:
        return search(Query(NAME, ACCESS, text, filters=filters, rerank=False), services)

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
        | _filtered(answer, claims[:FILTERED_QUERIES])
        | _together(answer, claims)
        | _legs(medley, claims, chosen.home)
    )


def _filtered(answer: Callable[..., Any], claims: Sequence[str]) -> dict[str, float]:
    """Of each filter the first search, which lists the documents that pass, and the times of the others."""
    figures: dict[str, float] = {}
    for name, kept in FILTERS.items():
        filtered = partial(answer, filters=(kept,))
        (first,), _ = time_each(filtered, claims[:1])
        times, _ = time_each(filtered, claims)
        found = percentiles(times)
        figures |= {f"filter_{name}_{point}": found[point] for point in ("p50_ms", "p95_ms")}
        figures[f"filter_{name}_first_ms"] = first
    return figures


def _together(answer: Callable[..., Any], claims: Sequence[str]) -> dict[str, float]:
    """The same searches by several clients at the same time, in the threads of one process, as a gateway answers them."""
    parts = [claims[start::CLIENTS] for start in range(CLIENTS)]
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        times = [one for part, _ in clients.map(lambda part: time_each(answer, part), parts) for one in part]
    seconds, found = time.perf_counter() - started, percentiles(times)
    figures = {f"clients_{CLIENTS}_{point}": found[point] for point in ("p50_ms", "p95_ms")}
    return figures | {f"clients_{CLIENTS}_per_second": len(claims) / seconds}


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

    def by_vectors(place: str, *filters: Filter) -> list[str]:
        request = LegsRequest(meta.index, empty, {"dense": vectors[int(place)]}, ACCESS, DEPTH, filters)
        return list(dict.fromkeys(item.document for item in medley.engine.legs(request).rankings["dense"]))

    words, _ = time_each(by_words, places)
    nearest, found = time_each(by_vectors, places)
    exact = _best_products(vectors[:EXACT_QUERIES], folder)
    shares = [_recall(own[:DEPTH], best) for own, best in zip(found, exact, strict=False)]
    of_tenth = np.arange(exact.shape[1]) % YEARS >= YEARS - YEARS // 10
    filtered = [
        _recall(by_vectors(place, FILTERS["tenth"])[:DEPTH], np.where(of_tenth, best, -np.inf))
        for place, best in zip(places, exact, strict=False)
    ]
    return {
        f"{BM25}_p50_ms": float(np.median(words)),
        "dense_p50_ms": float(np.median(nearest)),
        "recall": float(np.mean(shares)),
        "filter_tenth_recall": float(np.mean(filtered)),
    }


def _recall(found: Sequence[str], products: Any) -> float:
    """The share of the first 100 that was found; any of those that tie with the last of them counts.

    Where fewer documents pass a filter, the others having no finite product, it is the share of these.
    """
    wanted = min(DEPTH, int(np.isfinite(products).sum()))
    least = np.partition(products, -wanted)[-wanted] - _ROUNDING
    return float(np.sum([products[int(name[1:])] >= least for name in found])) / wanted


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
