"""Where evaluation reaches ingestion: the corpora of suites, and what the benches of ingestion measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from search.bootstrap import Medley
from workers.indexing.batches import Outcome
from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
from workers.indexing.ingest import ingest, ingest_all
from workers.indexing.inspection import inspect
from workers.indexing.rebuild import rebuild

WAIT_SECONDS: Final = 600.0
"""How long to wait for another writer of the index."""


def index_all(medley: Medley, name: str) -> None:
    """Index everything that is pending in a collection. Raises `MedleyError` when a document could not be indexed."""
    ingest_all(Indexer.of(medley, name, IndexingOptions(wait=WAIT_SECONDS)))


def index_pending(medley: Medley, name: str, statistics: IndexingStatistics | None = None) -> Iterator[Outcome]:
    """Index everything that is pending in a collection, with the encoders of its index."""
    options = IndexingOptions(wait=WAIT_SECONDS, statistics=statistics or IndexingStatistics())
    return ingest(Indexer.of(medley, name, options))


def rebuild_index(medley: Medley, name: str) -> None:
    """Rebuild a collection aside with its own encoders, and publish it."""
    for _ in rebuild(Indexer.of(medley, name)):
        pass


def find_faults(medley: Medley, name: str) -> list[str]:
    """What `medley index verify` finds wrong with a collection."""
    return [str(item) for item in inspect(Indexer.of(medley, name))]
