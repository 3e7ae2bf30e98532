"""Where the command line reaches ingestion: in this process, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mappings.errors import MedleyError
from search.bootstrap import Medley
from search.engines.names import split_index

if TYPE_CHECKING:
    from search.protocols import Encoder
    from workers.ingest import Outcome
    from workers.queue import Queue


def fill(medley: Medley, name: str, wait: float = 600.0) -> Iterator[Outcome]:
    """Index everything that is pending in a collection; its first index is made if there is none."""
    from workers.ingest import Options, ingest

    collection = medley.collection(name)
    encoders = medley.encoders(collection)
    options = Options(wait=wait, find=medley.encoder_of)
    return ingest(medley.store(name), medley.engine, encoders, collection, options=options)


def fill_quietly(medley: Medley, name: str) -> None:
    """`fill` for callers that do not need the outcomes. Raises `MedleyError` when a document failed."""
    for outcome in fill(medley, name):
        if outcome.cause:
            raise MedleyError(f"{outcome.id} could not be indexed: {outcome.cause}", field="id")


def rebuild(medley: Medley, name: str, encoder: str | None = None) -> Iterator[Outcome]:
    """Index the whole collection again beside its published index, and publish the new index in one step."""
    from workers.ingest import rebuild as build

    collection = medley.collection(name)
    return build(medley.store(name), medley.engine, choose_encoders(medley, name, encoder), collection)


def begin_rebuild(medley: Medley, name: str, encoder: str | None, queue: Queue) -> str:
    """Start a rebuild by the workers; the index that they fill from now on."""
    from workers.duty import Duty
    from workers.rebuilds import begin

    encoders, collection = choose_encoders(medley, name, encoder), medley.collection(name)
    index = begin(medley.store(name), medley.engine, encoders, collection)
    Duty(medley, queue).sweep([name])
    return index


def forget(medley: Medley, index: str) -> None:
    """Remove an index that was dropped from the store: its records, and the note that workers fill it."""
    from workers.rebuilds import given_up

    collection, _ = split_index(index)
    if collection in medley.names():
        given_up(medley.store(collection), collection, index)


def choose_encoders(medley: Medley, name: str, encoder: str | None) -> dict[str, Encoder]:
    """Vector field -> the encoder of this name, or the collection's own if none is named."""
    collection = medley.collection(name)
    if encoder is None:
        return medley.encoders(collection)
    return dict.fromkeys(collection.vectors, medley.encoder(encoder))


def findings(medley: Medley, name: str) -> list[str]:
    """What `medley index verify` reports about a collection; nothing if it is complete and consistent."""
    from workers.inspect import inspect

    collection = medley.collection(name)
    return [str(item) for item in inspect(medley.store(name), medley.engine, medley.encoders(collection), collection)]
