"""Where the command line reaches ingestion: in this process, no broker needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from search.bootstrap import Medley

if TYPE_CHECKING:
    from workers.ingest import Outcome


def fill(medley: Medley, name: str, wait: float = 600.0) -> Iterator[Outcome]:
    """Index all that waits in a collection; its first index is made when there is none."""
    from workers.ingest import ingest

    collection = medley.collection(name)
    return ingest(medley.store(name), medley.engine, medley.encoders(collection), collection, wait=wait)


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
