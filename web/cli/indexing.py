"""Where the command line reaches ingestion: in this process, no broker needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from search.bootstrap import Medley
from search.engines.names import split_index

if TYPE_CHECKING:
    from search.protocols import Encoder
    from workers.indexing.batches import Outcome
    from workers.queueing.queue import Queue


def fill(medley: Medley, name: str, wait: float = 600.0) -> Iterator[Outcome]:
    """Index all that waits in a collection; its first index is made when there is none."""
    from workers.indexing.indexer import Indexer, IndexingOptions
    from workers.indexing.ingest import ingest

    return ingest(Indexer.of(medley, name, IndexingOptions(wait=wait)))


def fill_quietly(medley: Medley, name: str) -> None:
    """`fill` for callers that want no outcomes. Raises `MedleyError` when a document failed."""
    from mappings.errors import MedleyError

    for outcome in fill(medley, name):
        if outcome.cause:
            raise MedleyError(f"{outcome.id} could not be indexed: {outcome.cause}", field="id")


def rebuild(medley: Medley, name: str, encoder: str | None = None) -> Iterator[Outcome]:
    """Rebuild the index of a collection aside, and publish it in one step."""
    from workers.indexing.indexer import Indexer
    from workers.indexing.rebuild import rebuild as build

    return build(Indexer.of(medley, name, encoders=chosen_encoders(medley, name, encoder)))


def begin_rebuild(medley: Medley, name: str, encoder: str | None, queue: Queue) -> str:
    """The index that the workers fill from now on."""
    from workers.indexing.indexer import Indexer
    from workers.indexing.rebuild import begin
    from workers.queueing.worker import IndexWorker

    index = begin(Indexer.of(medley, name, encoders=chosen_encoders(medley, name, encoder)))
    IndexWorker(medley, queue).sweep([name])
    return index


def forget(medley: Medley, index: str) -> None:
    """Leave no trace in the store of an index that was dropped: neither its records nor that workers fill it."""
    from workers.indexing import rebuild
    from workers.indexing.indexer import Indexer

    collection, _ = split_index(index)
    if collection in medley.collections.names():
        rebuild.forget(Indexer.of(medley, collection, encoders={}), index)


def chosen_encoders(medley: Medley, name: str, encoder: str | None) -> dict[str, Encoder]:
    """Vector field -> the encoder of this name, or the collection's own where none is named."""
    collection = medley.collections.get(name)
    if encoder is None:
        return medley.models.encoders(collection)
    return dict.fromkeys(collection.vectors, medley.models.encoder(encoder))


def findings(medley: Medley, name: str) -> list[str]:
    """What `medley index verify` says of a collection; nothing of one that is whole."""
    from workers.indexing.indexer import Indexer
    from workers.indexing.inspection import inspect

    return [str(item) for item in inspect(Indexer.of(medley, name))]
