"""`medley bench words`: from accepted documents to an embedded index without vectors, and the time of each step."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.ingestion import NAME, require_indexed
from evaluation.suites import scifact
from mappings.analysis.passages import passages
from mappings.clinical.concepts import shipped_concepts
from mappings.clinical.reading import prepared_reader
from mappings.collection import Collection
from mappings.documents import Document
from search.bootstrap import Medley
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.store import EmbeddedStore
from search.protocols import IndexEntry
from search.settings import Settings
from search.storage import State, StateRecord, StoredDocument
from workers.indexing.batches import BATCH_DOCUMENTS as COMMIT_DOCUMENTS
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

DOCUMENTS: Final = 5_000


def bench_words(settings: Settings) -> Report:
    """Abstracts into an embedded index without vectors: documents per second, and the share of each step in the time."""
    corpus = scifact.task(settings, distractors=False).corpus
    documents = list(islice(corpus.documents(), DOCUMENTS))
    with _embedded() as (store, engine, collection):
        store.put(documents)
        started = time.perf_counter()
        require_indexed(
            list(ingest(Indexer(store, engine, {}, collection, reader=prepared_reader(shipped_concepts())))), documents
        )
        seconds = time.perf_counter() - started
    steps = _time_steps(documents)
    figures = {
        "documents": float(len(documents)),
        "documents_per_second": len(documents) / seconds,
        **{f"share_{name}": value / sum(steps.values()) for name, value in steps.items()},
        "steps_one_by_one_per_second": len(documents) / sum(steps.values()),
    }
    return bench_report("words", figures)


@contextmanager
def _embedded() -> Iterator[tuple[EmbeddedStore, EmbeddedEngine, Collection]]:
    with tempfile.TemporaryDirectory() as folder:
        medley = Medley.open(Settings(home=Path(folder)))
        collection = replace(medley.collections.create(NAME), vectors={}, window_words=0)
        store = EmbeddedStore(Path(folder) / "collections" / NAME)
        yield store, EmbeddedEngine(Path(folder), lambda name: collection), collection


def _time_steps(documents: Sequence[Document]) -> Mapping[str, float]:
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
            for start in range(0, len(documents), COMMIT_DOCUMENTS):
                names = [item.id for item in documents[start : start + COMMIT_DOCUMENTS]]
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
    entries = []
    for stored in batch:
        if stored.document is not None:
            document, pieces = stored.document, passages(stored.document, stored.version, collection)
            entries.append(IndexEntry(stored.id, stored.version, document.labels, document.fields, pieces, {}))
    return entries
