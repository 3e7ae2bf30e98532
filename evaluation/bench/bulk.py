"""`medley bench bulk`: documents with their vectors into a cluster, by our writer and by `helpers.parallel_bulk`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import numpy as np
import orjson

from evaluation.bench.shared.cluster import (
    BATCH,
    bench_engine,
    encoder_identities,
    open_source,
    read_entries,
)
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.suites import scifact
from mappings.collection import Collection
from mappings.errors import MedleyError
from mappings.indexes import index_body
from search.engines.names import index_name
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.records import entry_ids, records
from search.protocols import IndexEntry
from search.settings import Settings

ROUNDS: Final = 3
COMPARED: Final = 200

_FIRST_PLAIN: Final = 1_000_000

Write = Callable[[str], None]
"""Writes all documents into an index."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to write, and what makes a new index for it."""

    create: Callable[[], str]
    write: Write


def bench_bulk(settings: Settings) -> Report:
    """Documents per second, vectors ready: our writer, beside `helpers.parallel_bulk` of the same bodies.

    `form_ratio` is to our writer with JSON numbers, into an index whose refreshes wait for merges; `vector_difference` the
    largest difference of a value between the vectors that are read back from both.
    """
    task = scifact.task(settings, distractors=False)
    medley = open_source(task, settings)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-bulk")
    entries = [entry for some in read_entries(medley, task, collection, whole=True) for entry in some]
    with bench_engine(settings, collection) as engine:
        ways = _ways(engine, settings, collection, encoder_identities(medley, task), entries)
        seconds, difference = _measured(ways, engine, entries)
    figures = {
        "documents": float(len(entries)),
        "rows": float(sum(sum(entry.rows) for entry in entries)),
        "documents_per_second": len(entries) / seconds["ours"],
        "numbers_documents_per_second": len(entries) / seconds["numbers"],
        "parallel_bulk_documents_per_second": len(entries) / seconds["plain"],
        "speed_ratio": seconds["plain"] / seconds["ours"],
        "form_ratio": seconds["numbers"] / seconds["ours"],
        "vector_difference": difference,
    }
    return bench_report("bulk", figures)


def _ways(
    engine: OpenSearchEngine,
    settings: Settings,
    collection: Collection,
    encoders: Mapping[str, tuple[str, int]],
    entries: Sequence[IndexEntry],
) -> dict[str, _Way]:
    generations = count(_FIRST_PLAIN)

    def ours() -> str:
        return engine.create(collection.name, encoders).index

    def plain() -> str:
        """An index with the settings that OpenSearch has by itself, for vectors as JSON numbers."""
        generation = next(generations)
        body = index_body(collection, encoders, generation)
        del body["settings"]["index"]["merge_on_flush.enabled"]
        engine.cluster.write("PUT", f"/{engine.cluster.name('search', collection.name, str(generation))}", body)
        return index_name(collection.name, generation)

    index = plain()
    bodies = list(_bodies(entries, engine.describe(index)))
    engine.drop(index)
    write = _writer(engine, entries)
    return {
        "plain": _Way(plain, _library(engine, settings, bodies)),
        "numbers": _Way(plain, write),
        "ours": _Way(ours, write),
    }


def _measured(
    ways: Mapping[str, _Way], engine: OpenSearchEngine, entries: Sequence[IndexEntry]
) -> tuple[dict[str, float], float]:
    """The shortest time of each way, each into a new index; and how far the vectors of "ours" are from those of "numbers".

    In turns, so that other load on the machine falls on all; the first round warms up.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    vectors: dict[str, Mapping[str, Any]] = {}
    passages = [passage for entry in entries for passage in entry.passages][:COMPARED]
    for step in range(ROUNDS + 1):
        for name, way in ways.items():
            index = way.create()
            started = time.perf_counter()
            way.write(index)
            if step:
                seconds[name].append(time.perf_counter() - started)
            else:
                vectors[name] = engine.vectors(index, passages)
            engine.drop(index)
    return {name: min(values) for name, values in seconds.items()}, _difference(vectors["ours"], vectors["numbers"])


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    if not one or one.keys() != other.keys():
        raise MedleyError("the same documents were written in two ways, but not the same vectors are read back")
    return max(
        float(np.abs(rows - other[passage][name]).max()) for passage, own in one.items() for name, rows in own.items()
    )


def _writer(engine: OpenSearchEngine, entries: Sequence[IndexEntry]) -> Write:
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


def _bodies(entries: Sequence[IndexEntry], index: OpenSearchIndexDescription) -> Iterator[dict[str, Any]]:
    for entry in entries:
        for name, line in zip(entry_ids(entry), records(entry, index), strict=True):
            yield {"_id": name, "routing": entry.document, "_source": orjson.loads(line)}
