"""Where the command line reaches ingestion: in this process, no broker needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from search.bootstrap import Medley

if TYPE_CHECKING:
    from workers.ingest import Outcome


def fill(medley: Medley, name: str, wait: float = 600.0) -> Iterator[Outcome]:
    """Index all that waits in a collection; its first index is made when there is none."""
    from workers.ingest import Options, ingest

    collection = medley.collection(name)
    encoders = medley.encoders(collection)
    options = Options(wait=wait, find=medley.encoder_of)
    return ingest(medley.store(name), medley.engine, encoders, collection, options=options)


def fill_quietly(medley: Medley, name: str) -> None:
    """`fill` for callers that want no outcomes. Raises `MedleyError` when a document failed."""
    from mappings.errors import MedleyError

    for outcome in fill(medley, name):
        if outcome.cause:
            raise MedleyError(f"{outcome.id} could not be indexed: {outcome.cause}", field="id")


def rebuild(medley: Medley, name: str) -> Iterator[Outcome]:
    """Index the whole collection anew, aside, and publish it in one step."""
    from workers.ingest import rebuild as build

    collection = medley.collection(name)
    return build(medley.store(name), medley.engine, medley.encoders(collection), collection)


def findings(medley: Medley, name: str) -> list[str]:
    """What `medley index verify` says of a collection; nothing of one that is whole."""
    from workers.inspect import inspect

    collection = medley.collection(name)
    return [str(item) for item in inspect(medley.store(name), medley.engine, medley.encoders(collection), collection)]
