"""Indexing for the commands, in this process: no queue is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from mappings.errors import MedleyError, Unavailable
from search.bootstrap import Medley
from search.engines.names import split_index
from search.storage import Purged
from web.cli.common import not_queued

if TYPE_CHECKING:
    from workers.indexing.batches import Outcome
    from workers.indexing.indexer import IndexingStatistics
    from workers.queueing.queue import Queue


WAIT_SECONDS: Final = 600.0
"""How long to wait for another writer of the index."""


def fill(medley: Medley, name: str, statistics: IndexingStatistics | None = None) -> Iterator[Outcome]:
    """Index everything that is pending in a collection; its first index is created if there is none.

    The work is added to `statistics`.
    """
    from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
    from workers.indexing.ingest import ingest

    options = IndexingOptions(wait=WAIT_SECONDS, statistics=statistics or IndexingStatistics())
    return ingest(Indexer.of(medley, name, options))


def fill_quietly(medley: Medley, name: str) -> None:
    """`fill` for callers that need no outcomes. Raises `MedleyError` when a document failed."""
    from workers.indexing.indexer import Indexer, IndexingOptions
    from workers.indexing.ingest import ingest_all

    ingest_all(Indexer.of(medley, name, IndexingOptions(wait=WAIT_SECONDS)))


def rebuild(
    medley: Medley, name: str, encoder: str | None = None, statistics: IndexingStatistics | None = None
) -> Iterator[Outcome]:
    """Build a new index of a collection next to the published one, then publish it atomically.

    The work is added to `statistics`.
    """
    from workers.indexing.indexer import Indexer, IndexingOptions, IndexingStatistics
    from workers.indexing.rebuild import rebuild as build

    options = IndexingOptions(statistics=statistics or IndexingStatistics())
    return build(
        Indexer.of(medley, name, options, medley.models.index_encoders(medley.collections.get(name), encoder or ""))
    )


def unread_sentences(work: IndexingStatistics) -> dict[str, int]:
    """For a report: how many documents a discourse model did not read to their ends; empty if it read all."""
    return {"cut_documents": work.cut, "unread_sentences": work.unread} if work.cut else {}


def unread_lines(report: Mapping[str, Any]) -> list[str]:
    """What a report with `unread_sentences` says of them, in words."""
    if not report.get("cut_documents"):
        return []
    return [
        f"{report['cut_documents']:,} documents have more sentences than the leg 'discourse' reads: it does not find the last "
        f"{report['unread_sentences']:,} of them; the other legs do"
    ]


def apply_retention(medley: Medley, name: str) -> None:
    """Remove for ever what `MEDLEY_RETENTION_DAYS` says, once a day; the next run does what an error prevents."""
    from workers.indexing import purge
    from workers.indexing.indexer import Indexer

    try:
        purge.apply_retention(Indexer.of(medley, name, encoders={}), medley.settings)
    except MedleyError as error:
        click.echo(f"medley: {name}: what is older than MEDLEY_RETENTION_DAYS stays: {error.message}", err=True)


def purge(medley: Medley, name: str, before: float, ids: Collection[str] | None) -> Purged:
    """Remove for ever what was replaced or deleted before a time, in seconds since 1970; see `workers.indexing.purge`."""
    from workers.indexing import purge
    from workers.indexing.indexer import Indexer, IndexingOptions

    return purge.purge(Indexer.of(medley, name, IndexingOptions(wait=WAIT_SECONDS), encoders={}), before, ids)


def begin_rebuild(medley: Medley, name: str, encoder: str | None, queue: Queue) -> str:
    """Start a rebuild that the workers of the queue carry out; returns the name of the new index.

    Raises `Unavailable` if the queue does not answer; the rebuild has been begun even then.
    """
    from workers.indexing.indexer import Indexer
    from workers.indexing.rebuild import begin
    from workers.indexing.recovery import recover

    index = begin(
        Indexer.of(medley, name, encoders=medley.models.index_encoders(medley.collections.get(name), encoder or ""))
    )
    try:
        recover(Indexer.of(medley, name, encoders={}), queue)
    except Unavailable as error:
        raise not_queued(queue, f"the rebuild as {index} was begun, and waits for workers.") from error
    return index


def forget(medley: Medley, index: str) -> None:
    """Remove a dropped index from the store: its document states, and that workers are filling it."""
    from workers.indexing import rebuild
    from workers.indexing.indexer import Indexer

    collection, _ = split_index(index)
    if collection in medley.collections.names():
        rebuild.forget(Indexer.of(medley, collection, encoders={}), index)
