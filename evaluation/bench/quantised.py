"""`medley bench quantised`: vector fields of fewer bits on a cluster, beside float32: what is found, time and disk."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from evaluation.bench.shared.cluster import (
    BATCH,
    DEPTH,
    EncodedQuestion,
    bench_engine,
    encode_questions,
    encoder_identities,
    open_source,
    read_entries,
)
from evaluation.bench.shared.figures import Report, bench_report, percentiles, time_each
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from mappings.checks import VECTOR_BITS
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry, LegsRequest
from search.query import LexicalQuery
from search.settings import Settings

ROUNDS: Final = 3
_ROUNDING: Final = 1e-5


def bench_quantised(settings: Settings) -> Report:
    """For each number of bits: recall@100 of the leg of vectors, milliseconds, seconds to write, MB after a force-merge.

    Over SciFact's claims and abstracts; what is exact are the products of all rows in float32. Raises `InvalidInput`
    without a cluster.
    """
    task = scifact.task(settings)
    medley = open_source(task, settings)
    questions = encode_questions(medley, task)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-quantised")
    entries = [entry for some in read_entries(medley, task, collection, whole=True) for entry in some]
    exact = _Exact.of(entries, questions)
    figures = {"queries": float(len(questions)), "rows": float(sum(sum(entry.rows) for entry in entries))}
    for bits in VECTOR_BITS:
        with bench_engine(settings, replace(collection, vector_bits=bits)) as engine:
            index = engine.create(collection.name, encoder_identities(medley, task)).index
            measured = _write(engine, index, entries) | _search(engine, index, questions, exact)
        figures |= {f"{name}_{bits}_bits": value for name, value in measured.items()}
    few = [bits for bits in VECTOR_BITS if bits < 32]
    figures |= {f"p50_ratio_{bits}_bits": figures[f"p50_ms_{bits}_bits"] / figures["p50_ms_32_bits"] for bits in few}
    return bench_report("quantised", figures)


@dataclass(frozen=True, slots=True)
class _Exact:
    """The product of each question with the best row of each passage, shape (questions, passages)."""

    places: Mapping[str, int]
    products: Any

    @classmethod
    def of(cls, entries: Sequence[IndexEntry], questions: Sequence[EncodedQuestion]) -> _Exact:
        """The products of rows as an index holds them: rounded to float16."""
        rows = np.concatenate([entry.vectors["dense"] for entry in entries]).astype(np.float16).astype(np.float32)
        counts = np.asarray([number for entry in entries for number in entry.rows])
        products = np.stack([item.vector for item in questions]) @ rows.T
        best = np.maximum.reduceat(products, np.cumsum(counts) - counts, axis=1)
        return cls({item.id: place for place, item in enumerate(p for entry in entries for p in entry.passages)}, best)

    def recall(self, question: int, found: Sequence[str]) -> float:
        """The share of the first 100 passages that was found; any of those that tie with the last of them counts."""
        own = self.products[question]
        depth = min(DEPTH, len(own))
        least = np.partition(own, -depth)[-depth] - _ROUNDING
        return float(np.sum([own[self.places[name]] >= least for name in found[:depth]]) / depth)


def _write(engine: OpenSearchEngine, index: str, entries: Sequence[IndexEntry]) -> dict[str, float]:
    physical = engine.describe(index).physical
    started = time.perf_counter()
    with engine.writer(index) as writer:
        for start in range(0, len(entries), BATCH):
            writer.write(entries[start : start + BATCH])
            writer.commit()
    seconds = time.perf_counter() - started
    engine.cluster.write("POST", f"/{physical}/_forcemerge", None, {"max_num_segments": "1"}, timeout=600.0)
    engine.cluster.write("POST", f"/{physical}/_refresh")
    stored = engine.cluster.read("GET", f"/{physical}/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"]
    return {"write_seconds": seconds, "disk_mb": stored / 1e6}


def _search(
    engine: OpenSearchEngine, index: str, questions: Sequence[EncodedQuestion], exact: _Exact
) -> dict[str, float]:
    """Recall and milliseconds of the leg of vectors alone, by the last of some rounds."""

    def ask(place: str) -> list[str]:
        vectors = {"dense": questions[int(place)].vector}
        answer = engine.legs(LegsRequest(index, LexicalQuery(()), vectors, ACCESS, DEPTH))
        return [item.passage for item in answer.rankings["dense"]]

    for _ in range(ROUNDS):
        times, found = time_each(ask, [*map(str, range(len(questions)))])
    recalls = [exact.recall(number, names) for number, names in enumerate(found)]
    return {"recall": float(np.mean(recalls)), "worst_recall": min(recalls), "p50_ms": percentiles(times)["p50_ms"]}
