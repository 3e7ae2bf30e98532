"""`medley bench search`: how fast a search is, and how much memory it takes, beside rank-bm25 and numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from evaluation.baselines.prepared import plain_tokens
from evaluation.bench.shared.apart import measure_apart, prepare_collection, run_measurement
from evaluation.bench.shared.figures import Report, bench_report, memory, percentiles, time_each
from evaluation.stages import ACCESS
from mappings.analysis.passages import passages, placed_windows
from search.bootstrap import Medley
from search.query import Query
from search.settings import Settings
from search.storage import State

ALTERNATIVE_QUERIES: Final = 60
ALTERNATIVE_WARM_UP: Final = 3
DEPTH: Final = 100
BATCH: Final = 500


def bench_search(settings: Settings) -> Report:
    """SciFact's claims over its abstracts and the 39k distractors, window 100, encoding included, no reranking.

    The alternative, in the same run: rank-bm25 and a numpy dot product over all vectors, fused the same way.
    """
    collection = prepare_collection(settings).corpus.name
    ours, alternative = (measure_apart(__name__, mode, collection, settings) for mode in ("search", "alternative"))
    ratios = {
        "p50_ratio": alternative["p50_ms"] / ours["p50_ms"],
        "p95_ratio": alternative["p95_ms"] / ours["p95_ms"],
        "memory_ratio": alternative["pss_mb"] / ours["pss_mb"],
    }
    figures = ours | {f"alternative_{name}": value for name, value in alternative.items()} | ratios
    return bench_report("search", figures)


def _measure_search(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    def answer(text: str) -> Any:
        return medley.search(Query(name, ACCESS, text, rerank=False))

    time_each(answer, warm)
    times, answers = time_each(answer, queries)
    encoding = [item.timings_ms.get("encode", 0.0) for item in answers]
    return percentiles(times) | memory() | {"encode_p50_ms": float(np.median(encoding))}


def _measure_alternative(medley: Medley, name: str, warm: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    answer = build_alternative(medley, name)
    time_each(answer, warm[:ALTERNATIVE_WARM_UP])
    times, _ = time_each(answer, queries[:ALTERNATIVE_QUERIES])
    return percentiles(times) | memory()


def build_alternative(medley: Medley, name: str) -> Callable[[str], Any]:
    """rank-bm25 over all texts, a numpy dot product over all vectors (the best of a text's windows), their min-max sum."""
    from rank_bm25 import BM25Okapi

    words = medley.engine.resolve(name).windows
    texts, read = [], []
    for passage in _passages(medley, name):
        texts.append(passage.model_text)
        read.append(placed_windows(passage, words))
    (encoder,) = medley.models.encoders(medley.collections.get(name)).values()
    vectors = encoder.encode_passages([text for own in read for text in own])
    starts = np.cumsum([0, *map(len, read)])[:-1]
    lexical = BM25Okapi([plain_tokens(text) for text in texts])
    del texts, read

    def answer(query: str) -> Any:
        words = lexical.get_scores(plain_tokens(query))
        dense = np.maximum.reduceat(vectors @ encoder.encode_queries([query])[0], starts)
        fused = _min_max(words) + _min_max(dense)
        best = np.argpartition(-fused, DEPTH)[:DEPTH]
        return best[np.argsort(-fused[best])]

    return answer


def _min_max(scores: Any) -> Any:
    low, high = scores.min(), scores.max()
    return (scores - low) / ((high - low) or 1.0)


def _passages(medley: Medley, name: str) -> Iterable[Any]:
    store, collection = medley.collections.store(name), medley.collections.get(name)
    index = medley.engine.resolve(name).index
    names = [record.id for record in store.states(index, State.INDEXED, 2**62)]
    for start in range(0, len(names), BATCH):
        for stored in store.latest(names[start : start + BATCH]).values():
            if stored.document is not None:
                yield from passages(stored.document, stored.version, collection)


if __name__ == "__main__":
    run_measurement({"search": _measure_search, "alternative": _measure_alternative})
