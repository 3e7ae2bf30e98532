"""`medley bench ingest` and `bench words`: from accepted documents to an index, with an encoder on a cluster, and without.

The alternative of the first is a straightforward loop: sentence-transformers encodes title and text of each document, 32
at a time, as far as the model reads, and `helpers.bulk` writes them. Ours accepts documents into the store, cuts them
into passages and windows, so that nothing of a long one is left out, encodes those and records what became of them.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from encoders.artifact import Artifact
from evaluation.bench.models import BATCH, ENCODER, artifact_of, reference
from evaluation.bench.search import machine
from evaluation.suites import scifact
from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.store import EmbeddedStore
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry
from search.settings import Settings
from search.storage import State, StateRecord, StoredDocument
from workers.indexing.batches import BATCH_DOCUMENTS
from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
from workers.indexing.ingest import ingest

Report = dict[str, Any]
NAME: Final = "abstracts"
DOCUMENTS: Final = 400
ROUNDS: Final = 3
WORDS_DOCUMENTS: Final = 5_000
CHUNK: Final = 256


def bench_ingest(settings: Settings) -> Report:
    """Abstracts into a cluster, `speed_ratio` to the loop, and `encoder_busy`, the share of the time that it encodes."""
    if not settings.opensearch:
        raise InvalidInput(
            "this bench fills a cluster: name one in MEDLEY_OPENSEARCH, as http://127.0.0.1:9200",
            field="MEDLEY_OPENSEARCH",
        )
    documents = list(islice(scifact.task(settings, distractors=False).corpus.documents(), DOCUMENTS))
    artifact = artifact_of(settings, settings.encoder or ENCODER, "bi-encoder")
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    busy: list[float] = []
    work = IndexingStatistics()
    with reference(artifact) as model:
        for step in range(ROUNDS + 1):
            work = IndexingStatistics()
            ours, share = _ours(settings, documents, work)
            theirs = _theirs(settings, documents, model, artifact)
            if step:  # the first round warms up
                busy.append(share)
                seconds["ours"].append(ours)
                seconds["theirs"].append(theirs)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    figures = {
        "speed_ratio": statistics.median(map(_ratio, seconds["theirs"], seconds["ours"])),
        "encoder_busy": statistics.median(busy),
        "documents": float(len(documents)),
        "documents_per_second": len(documents) / medians["ours"],
        "loop_documents_per_second": len(documents) / medians["theirs"],
        "texts_per_document": work.texts / len(documents),
        "tokens_per_second": work.tokens / work.encoding_seconds if work.encoding_seconds else 0.0,
    }
    return _report("ingest", figures, {"model": artifact.name})


def _ratio(theirs: float, ours: float) -> float:
    return theirs / ours


def _ours(settings: Settings, documents: Sequence[Document], work: IndexingStatistics) -> tuple[float, float]:
    """Seconds from the first document accepted to the last one to be found, and the encoder's share of ingestion."""
    with tempfile.TemporaryDirectory() as home:  # no vectors of an earlier round are at hand there
        prefix = f"{settings.opensearch_prefix}-ingest-{secrets.token_hex(3)}"
        medley = Medley.open(replace(settings, home=Path(home), opensearch_prefix=prefix), patient=True)
        collection = medley.collections.create(NAME)
        for encoder in medley.models.encoders(collection).values():
            encoder.encode_queries(["warm"])
        started = time.perf_counter()
        medley.collections.store(NAME).put(documents)
        accepted = time.perf_counter()
        outcomes = list(ingest(Indexer.of(medley, NAME, IndexingOptions(statistics=work))))
        ended = time.perf_counter()
        if isinstance(medley.engine, OpenSearchEngine):
            medley.engine.cluster.write("DELETE", f"/{prefix}.*")
    _check(outcomes, documents)
    return ended - started, work.encoding_seconds / (ended - accepted)


def _check(outcomes: Sequence[Any], documents: Sequence[Document]) -> None:
    if len(outcomes) != len(documents) or any(item.cause for item in outcomes):
        raise InvalidInput("some of the bench's documents were not indexed", field="documents")


def _theirs(settings: Settings, documents: Sequence[Document], model: Any, artifact: Artifact) -> float:
    from opensearchpy import OpenSearch
    from opensearchpy.helpers import bulk

    client, name = OpenSearch(settings.opensearch.split(","), timeout=120), f"loop-{secrets.token_hex(3)}"
    vector = {
        "type": "knn_vector",
        "dimension": artifact.dimension,
        "method": {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"},
    }
    fields = {"title": {"type": "text"}, "text": {"type": "text"}, "vector": vector}
    client.indices.create(index=name, body={"settings": {"index.knn": True}, "mappings": {"properties": fields}})
    started = time.perf_counter()
    for start in range(0, len(documents), CHUNK):
        some = [
            (item.id, item.title, " ".join(part.text for part in item.sections))
            for item in documents[start : start + CHUNK]
        ]
        vectors = model.encode(
            [f"{title} {text}" for _, title, text in some], batch_size=BATCH, show_progress_bar=False
        )
        bulk(
            client,
            (
                {"_index": name, "_id": key, "_source": {"title": title, "text": text, "vector": row.tolist()}}
                for (key, title, text), row in zip(some, vectors, strict=True)
            ),
        )
    client.indices.refresh(index=name)
    seconds = time.perf_counter() - started
    client.indices.delete(index=name)
    client.close()
    return seconds


def bench_words(settings: Settings) -> Report:
    """Abstracts into an embedded index without vectors: documents per second, and the share of each step in the time."""
    corpus = scifact.task(settings, distractors=False).corpus
    documents = list(islice(corpus.documents(), WORDS_DOCUMENTS))
    with _embedded() as (store, engine, collection):
        store.put(documents)
        started = time.perf_counter()
        _check(list(ingest(Indexer(store, engine, {}, collection))), documents)
        seconds = time.perf_counter() - started
    steps = _steps(documents)
    figures = {
        "documents": float(len(documents)),
        "documents_per_second": len(documents) / seconds,
        **{f"share_{name}": value / sum(steps.values()) for name, value in steps.items()},
        "steps_one_by_one_per_second": len(documents) / sum(steps.values()),
    }
    return _report("words", figures, {})


@contextmanager
def _embedded() -> Iterator[tuple[EmbeddedStore, EmbeddedEngine, Collection]]:
    with tempfile.TemporaryDirectory() as folder:
        medley = Medley.open(Settings(home=Path(folder)))
        collection = replace(medley.collections.create(NAME), vectors={}, window_words=0)
        store = EmbeddedStore(Path(folder) / "collections" / NAME)
        yield store, EmbeddedEngine(Path(folder), lambda name: collection), collection


def _steps(documents: Sequence[Document]) -> Mapping[str, float]:
    """Seconds of each step of ingestion, done one after the other."""
    spent: dict[str, float] = dict.fromkeys(("accept", "read", "analyse", "write", "commit", "record"), 0.0)

    def timed(name: str, step: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        try:
            return step()
        finally:
            spent[name] += time.perf_counter() - started

    with _embedded() as (store, engine, collection):
        index = engine.create(NAME, {}).index
        timed("accept", lambda: store.put(documents))
        with engine.writer(index) as writer:
            for start in range(0, len(documents), BATCH_DOCUMENTS):
                names = [item.id for item in documents[start : start + BATCH_DOCUMENTS]]
                stored = timed("read", partial(store.latest, names)).values()
                entries = timed("analyse", partial(_entries, list(stored), collection))
                timed("write", partial(writer.write, entries))
                timed("commit", writer.commit)
                records = [
                    StateRecord(item.document, item.version, State.INDEXED, len(item.passages)) for item in entries
                ]
                timed("record", partial(store.settle, index, records))
    return spent


def _entries(batch: Sequence[StoredDocument], collection: Collection) -> list[IndexEntry]:
    made = []
    for stored in batch:
        if stored.document is not None:
            document, pieces = stored.document, passages(stored.document, stored.version, collection)
            made.append(IndexEntry(stored.id, stored.version, document.labels, document.fields, pieces, {}))
    return made


def _report(name: str, figures: Mapping[str, float], more: Mapping[str, str]) -> Report:
    rounded = {key: round(value, 4) for key, value in figures.items()}
    return {"bench": name, "machine": {**machine(), **more}, "figures": rounded}
