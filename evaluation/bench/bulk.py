"""`medley bench bulk`: documents with their vectors into a cluster, by our writer and by `helpers.parallel_bulk`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from evaluation.bench.shared.cluster import (
    BATCH,
    encoder_identities,
    engine_of,
    open_on_cluster,
    read_entries,
)
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.suites import scifact
from mappings.collection import Collection
from mappings.errors import MedleyError
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.records import entry_ids, records
from search.protocols import IndexEntry
from search.settings import Settings

DOCUMENTS: Final = 6_000
ROUNDS: Final = 2

Write = Callable[[str], None]
"""Writes all documents into an index."""


def bench_bulk(settings: Settings) -> Report:
    """Documents per second of both, vectors ready: our writer, beside `helpers.parallel_bulk` of the same bodies."""
    task = scifact.task(settings, distractors=True)
    medley = open_on_cluster(task, settings)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-bulk")
    entries = [entry for some in read_entries(medley, task, collection, whole=True) for entry in some][:DOCUMENTS]
    engine, encoders = engine_of(medley, collection), encoder_identities(medley, task)
    bodies = list(_bodies(entries, collection, list(encoders)))
    ways = {"plain": _library(engine, settings, bodies), "ours": _ours(engine, entries)}
    best = _best_seconds(ways, engine, collection, encoders)
    figures = {
        "documents": float(len(entries)),
        "rows": float(len(bodies)),
        "documents_per_second": len(entries) / best["ours"],
        "parallel_bulk_documents_per_second": len(entries) / best["plain"],
        "speed_ratio": best["plain"] / best["ours"],
    }
    return bench_report("bulk", figures)


def _best_seconds(
    ways: Mapping[str, Write],
    engine: OpenSearchEngine,
    collection: Collection,
    encoders: Mapping[str, tuple[str, int]],
) -> dict[str, float]:
    """The shortest time of each way, each into a new index; in turns, so that other load on the machine falls on both."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, write in ways.items():
            index = engine.create(collection.name, encoders).index
            started = time.perf_counter()
            write(index)
            seconds[name].append(time.perf_counter() - started)
            engine.drop(index)
    return {name: min(values) for name, values in seconds.items()}


def _ours(engine: OpenSearchEngine, entries: Sequence[IndexEntry]) -> Write:
    def write(index: str) -> None:
        with engine.writer(index) as writer:
            for start in range(0, len(entries), BATCH):
                writer.write(entries[start : start + BATCH])
                writer.commit()

    return write


def _library(engine: OpenSearchEngine, settings: Settings, bodies: Sequence[Mapping[str, Any]]) -> Write:
    from opensearchpy import OpenSearch
    from opensearchpy.helpers import parallel_bulk

    client = OpenSearch(settings.opensearch.split(","), timeout=120)

    def write(index: str) -> None:
        physical = engine.describe(index).physical
        for written, item in parallel_bulk(client, [{**body, "_index": physical} for body in bodies]):
            if not written:
                raise MedleyError(f"bulk: {item}")
        client.indices.refresh(index=physical)

    return write


def _bodies(entries: Sequence[IndexEntry], collection: Collection, vectors: Sequence[str]) -> Iterator[dict[str, Any]]:
    fields = {name: field.type for name, field in collection.fields.items()}
    for entry in entries:
        for name, line in zip(entry_ids(entry), records(entry, fields, list(vectors)), strict=True):
            yield {"_id": name, "routing": entry.document, "_source": orjson.loads(line)}
