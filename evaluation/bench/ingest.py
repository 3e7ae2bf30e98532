"""`medley bench ingest`: from accepted documents to an index with vectors on a cluster, beside a plain loop.

The loop is straightforward: sentence-transformers encodes title and text of each document, 32 at a time, as far as the
model reads, and `helpers.bulk` writes them. Ours accepts documents into the store, cuts them into passages and windows,
so that nothing of a long one is left out, encodes those and records the outcome of each.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from encoders.artifact import Artifact
from evaluation.bench.shared.cluster import require_cluster
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.ingestion import NAME, require_indexed
from evaluation.bench.shared.models import ENCODER, open_artifact
from evaluation.bench.shared.reference import open_reference
from evaluation.corpus.indexing import index_pending
from evaluation.suites import scifact
from mappings.documents import Document
from search.bootstrap import Medley
from search.engines.opensearch.engine import OpenSearchEngine
from search.settings import Settings
from workers.indexing.indexer import IndexingStatistics

DOCUMENTS: Final = 400
ROUNDS: Final = 3
CHUNK: Final = 256
BATCH: Final = 32


def bench_ingest(settings: Settings) -> Report:
    """Abstracts into a cluster, `speed_ratio` to the loop, and `encoder_busy`, the share of the time spent encoding.

    Raises `InvalidInput` without a cluster, `Unavailable` without sentence-transformers.
    """
    require_cluster(settings)
    documents = list(islice(scifact.task(settings, distractors=False).corpus.documents(), DOCUMENTS))
    artifact = open_artifact(settings, settings.encoder or ENCODER, "bi-encoder")
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    busy: list[float] = []
    work = IndexingStatistics()
    with open_reference(artifact) as model:
        for step in range(ROUNDS + 1):
            work = IndexingStatistics()
            ours, share = _run_ours(settings, documents, work)
            theirs = _run_loop(settings, documents, model, artifact)
            if step:  # the first round warms up
                busy.append(share)
                seconds["ours"].append(ours)
                seconds["theirs"].append(theirs)
    return bench_report("ingest", _figures(seconds, busy, work, len(documents)), {"model": artifact.name})


def _figures(
    seconds: dict[str, list[float]], busy: Sequence[float], work: IndexingStatistics, documents: int
) -> dict[str, float]:
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = [theirs / ours for theirs, ours in zip(seconds["theirs"], seconds["ours"], strict=True)]
    return {
        "speed_ratio": statistics.median(ratios),
        "encoder_busy": statistics.median(busy),
        "documents": float(documents),
        "documents_per_second": documents / medians["ours"],
        "loop_documents_per_second": documents / medians["theirs"],
        "texts_per_document": work.texts / documents,
        "tokens_per_second": work.tokens / work.encoding_seconds if work.encoding_seconds else 0.0,
    }


def _run_ours(settings: Settings, documents: Sequence[Document], work: IndexingStatistics) -> tuple[float, float]:
    """Seconds from accepting the first document until the last can be found, and the encoder's share of ingestion."""
    with tempfile.TemporaryDirectory() as home:  # without the cached vectors of an earlier round
        prefix = f"{settings.opensearch_prefix}-ingest-{secrets.token_hex(3)}"
        medley = Medley.open(replace(settings, home=Path(home), opensearch_prefix=prefix), patient=True)
        for encoder in medley.models.encoders(medley.collections.create(NAME)).values():
            encoder.encode_queries(["warm"])
        started = time.perf_counter()
        medley.collections.store(NAME).put(documents)
        accepted = time.perf_counter()
        outcomes = list(index_pending(medley, NAME, work))
        ended = time.perf_counter()
        if isinstance(medley.engine, OpenSearchEngine):
            medley.engine.cluster.write("DELETE", f"/{prefix}.*")
    require_indexed(outcomes, documents)
    return ended - started, work.encoding_seconds / (ended - accepted)


def _run_loop(settings: Settings, documents: Sequence[Document], model: Any, artifact: Artifact) -> float:
    """Seconds of the plain loop, its index refreshed."""
    from opensearchpy import OpenSearch
    from opensearchpy.helpers import bulk

    client, name = OpenSearch(settings.opensearch.split(","), timeout=120), f"loop-{secrets.token_hex(3)}"
    client.indices.create(index=name, body=_loop_index(artifact.dimension))
    started = time.perf_counter()
    for start in range(0, len(documents), CHUNK):
        bulk(client, _loop_actions(name, documents[start : start + CHUNK], model.encode))
    client.indices.refresh(index=name)
    seconds = time.perf_counter() - started
    client.indices.delete(index=name)
    client.close()
    return seconds


def _loop_index(dimension: int) -> dict[str, Any]:
    method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
    vector = {"type": "knn_vector", "dimension": dimension, "method": method}
    fields = {"title": {"type": "text"}, "text": {"type": "text"}, "vector": vector}
    return {"settings": {"index.knn": True}, "mappings": {"properties": fields}}


def _loop_actions(name: str, documents: Sequence[Document], encode: Callable[..., Any]) -> list[dict[str, Any]]:
    some = [(item.id, item.title, " ".join(part.text for part in item.sections)) for item in documents]
    vectors = encode([f"{title} {text}" for _, title, text in some], batch_size=BATCH, show_progress_bar=False)
    return [
        {"_index": name, "_id": key, "_source": {"title": title, "text": text, "vector": row.tolist()}}
        for (key, title, text), row in zip(some, vectors, strict=True)
    ]
