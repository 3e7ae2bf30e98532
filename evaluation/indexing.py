"""Where evaluation reaches ingestion: the corpora of suites, and what the benches of ingestion measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mappings.collection import Collection
from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.protocols import Encoder, Engine
from search.storage import DocumentStore
from workers.batches import BATCH, Outcome, Work
from workers.ingest import Options, ingest, rebuild
from workers.inspect import inspect

COMMIT_DOCUMENTS: Final = BATCH
"""Documents that ingestion writes in one commit."""
WAIT_SECONDS: Final = 600.0
"""How long to wait for another writer of the index."""

IndexWork = Work
"""What ingestion has done so far: texts, tokens and the seconds of encoding."""


def index_all(medley: Medley, name: str) -> None:
    """Index everything that is pending in a collection. Raises `MedleyError` when a document could not be indexed."""
    for outcome in index_pending(medley, name):
        if outcome.cause:
            raise MedleyError(f"{outcome.id} could not be indexed: {outcome.cause}", field="id")


def index_pending(medley: Medley, name: str, work: IndexWork | None = None) -> Iterator[Outcome]:
    """Index everything that is pending in a collection, with the encoders of its index; `work` counts what is done."""
    collection = medley.collection(name)
    options = Options(wait=WAIT_SECONDS, find=medley.encoder_of, work=work)
    return ingest(medley.store(name), medley.engine, medley.encoders(collection), collection, options=options)


def index_documents(
    store: DocumentStore,
    engine: Engine,
    encoders: Mapping[str, Encoder],
    collection: Collection,
    ids: Iterable[str] | None = None,
) -> Iterator[Outcome]:
    """Index what is pending in `store`, or only `ids`."""
    return ingest(store, engine, encoders, collection, ids)


def rebuild_index(medley: Medley, name: str) -> None:
    """Rebuild a collection aside with its own encoders, and publish it."""
    collection = medley.collection(name)
    for _ in rebuild(medley.store(name), medley.engine, medley.encoders(collection), collection):
        pass


def find_faults(medley: Medley, name: str) -> list[str]:
    """What `medley index verify` finds wrong with a collection."""
    collection = medley.collection(name)
    return [str(item) for item in inspect(medley.store(name), medley.engine, medley.encoders(collection), collection)]
