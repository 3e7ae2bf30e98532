"""`medley ingest`, `delete` and `retry`: adding and deleting documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.errors import MedleyError, NotFound
from search.bootstrap import Medley
from search.storage import State
from web.cli.common import (
    chosen_queue,
    json_option,
    not_queued,
    open_medley,
    open_use_cases,
    progress,
    queue_option,
    show,
)
from web.cli.indexing import apply_retention, fill, unread_lines, unread_sentences
from web.cli.standard_input import DASH, opened_records
from web.use_cases import UseCases, check_not_invented, published_index
from workers.messages import QueueTarget

BATCH = 500
EVERYTHING = 2**62
SHOWN = 20
Record = Document | Deletion | Rejection


@click.command()
@click.argument("path", metavar="PATH|-", type=click.Path(path_type=Path))
@click.option("--collection", "-c", required=True, help="The collection; created if it does not exist.")
@click.option(
    "--format", "-f", "format_", default="jsonl", show_default=True, help="The format; see docs/user/formats.md."
)
@click.option("--kind", default=None, help="Kind of a new collection; by default its own name.")
@click.option("--store-only", is_flag=True, help="Accept the documents and index them later.")
@queue_option
@click.option(
    "--rejections",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every rejected record to this file, as JSON lines.",
)
@json_option
def ingest(
    path: Path,
    collection: str,
    format_: str,
    kind: str | None,
    store_only: bool,
    queue: bool,
    rejections: Path | None,
    as_json: bool,
) -> None:
    """Read documents from PATH (a file, a folder, or - for the standard input) into a collection and index them."""
    medley = open_medley(patient=True)
    use_cases = open_use_cases(medley, chosen_queue(queue))
    made = ensure_collection(medley, collection, kind)
    check_not_invented(made)
    with _records(path, format_, made, medley.settings.home) as records:
        report = accept(use_cases, collection, records, rejections)
    if not (store_only or queue):
        report |= index_all(medley, collection)
        apply_retention(medley, collection)
    show({"collection": collection, **report}, as_json, lambda: report_text(report))
    if use_cases.queue and not report["queued"]:
        raise not_queued(use_cases.queue, "the documents are stored, and not indexed yet.")
    if report["rejected"] or report.get("failed"):
        raise click.exceptions.Exit(1)


@contextmanager
def _records(path: Path, format_: str, collection: Collection, home: Path) -> Iterator[Iterator[Record]]:
    from mappings.formats.registry import read

    if str(path) != DASH:
        yield read(path, format_, collection)
        return
    with opened_records(format_, collection, home) as records:
        yield records


def ensure_collection(medley: Medley, collection: str, kind: str | None) -> Collection:
    """The collection; created of `kind`, or of the kind with its own name, if it does not exist."""
    if kind is None and collection in medley.collections.names():
        return medley.collections.get(collection)
    try:
        return medley.collections.create(collection, kind)
    except NotFound as error:
        message = f"{error.message}: give the kind with --kind if the collection has another name"
        raise NotFound(message, field="kind") from error


def accept(use_cases: UseCases, collection: str, records: Iterable[Record], file: Path | None = None) -> dict[str, Any]:
    """Store the records, batch by batch; rejections are counted, and the first few are listed."""
    listed: list[dict[str, str | None]] = []
    with (
        progress("accepting") as advance,
        _rejection_lines(file) as write,
        use_cases.delivery(collection) as delivery,
    ):
        for batch in _batches(_counted(records, advance)):
            delivery.accept(batch)
            rejected = [item for item in batch if isinstance(item, Rejection)]
            listed += [item.as_json() for item in rejected[: SHOWN - len(listed)]]
            write(rejected)
    queued = {"job": delivery.job.id, "queued": delivery.is_queued} if use_cases.queue else {}
    return delivery.totals | {"rejections": listed, "dropped_fields": delivery.dropped} | queued


def _counted(records: Iterable[Record], advance: Callable[[int], None]) -> Iterator[Record]:
    """The records, each counted when it is read."""
    for record in records:
        advance(1)
        yield record


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(records, BATCH)):
        yield batch


@contextmanager
def _rejection_lines(file: Path | None) -> Iterator[Callable[[list[Rejection]], None]]:
    """A function that writes rejections as JSON lines to `file`, or nowhere."""
    if file is None:
        yield lambda rejected: None
        return
    with file.open("w", encoding="utf-8") as handle:
        yield lambda rejected: handle.writelines(
            json.dumps(item.as_json(), ensure_ascii=False) + "\n" for item in rejected
        )


def index_all(medley: Medley, collection: str) -> dict[str, Any]:
    """Index what is pending; how many were indexed and how many failed, the first few with their causes.

    `encoded_tokens` are those of encoders that count them: a model server's are not known here.
    """
    from workers.indexing.indexer import IndexingStatistics

    indexed, failed, work = 0, [], IndexingStatistics()
    total = medley.collections.store(collection).counts(published_index(medley, collection)).waiting
    with progress("indexing", total) as advance, _named_if_deleted(medley, collection):
        for outcome in fill(medley, collection, work):
            advance(1)
            if outcome.cause:
                failed.append({"id": outcome.id, "cause": outcome.cause})
            else:
                indexed += 1
    return {
        "indexed": indexed,
        "failed": len(failed),
        "failures": failed[:SHOWN],
        "encoded_texts": work.texts,
        "encoded_tokens": work.tokens,
        **unread_sentences(work),
    }


@contextmanager
def _named_if_deleted(medley: Medley, collection: str) -> Iterator[None]:
    """Say that the collection was deleted meanwhile, where that is why the block fails: its index is missing then."""
    try:
        yield
    except MedleyError as error:
        if collection in medley.collections.names():
            raise
        raise NotFound(f"the collection {collection!r} was deleted or renamed meanwhile", field="collection") from error


def report_text(report: dict[str, Any]) -> str:
    """What happened to the records of a delivery, in lines."""
    names = ("accepted", "unchanged", "deleted", "rejected", "indexed", "failed")
    lines = [", ".join(f"{report[name]} {name}" for name in names if name in report)]
    lines += [f"rejected {item['source']}, {item['position']}: {item['reason']}" for item in report["rejections"]]
    lines += [f"failed {item['id']}: {item['cause']}" for item in report.get("failures", [])]
    lines += unread_lines(report)
    if report["rejected"] > len(report["rejections"]):
        lines.append(f"… and {report['rejected'] - len(report['rejections'])} more: --rejections FILE writes them all")
    return "\n".join(lines + _dropped_lines(report["dropped_fields"]))


def _dropped_lines(dropped: Mapping[str, int]) -> list[str]:
    """A notice of the values that were not kept, with the number of documents that had each."""
    if not dropped:
        return []
    named = [f"{name} ({count:,})" for name, count in islice(dropped.items(), SHOWN)]
    more = [f"and {len(dropped) - SHOWN:,} more"] if len(dropped) > SHOWN else []
    return [
        f"not kept: {', '.join(named + more)}: the collection's kind has no such fields; "
        "docs/operator/collections.md says how to add them"
    ]


@click.command()
@click.argument("ids", nargs=-1, required=True)
@click.option("--collection", "-c", required=True, help="The collection of the documents.")
@queue_option
@json_option
def delete(ids: tuple[str, ...], collection: str, queue: bool, as_json: bool) -> None:
    """Delete the documents with these IDS."""
    medley = open_medley(patient=True)
    use_cases = open_use_cases(medley, chosen_queue(queue))
    with ExitStack() as stack:
        records = [stack.enter_context(use_cases.audited("delete", collection, {"id": name})) for name in ids]
        delivery, done = use_cases.delete(collection, [Deletion(name) for name in ids])
        for asked in records:
            asked["job"] = delivery.job.id
    if not queue:
        index_all(medley, collection)
    report: dict[str, Any] = {
        "collection": collection,
        "deleted": [item.id for item in done if item.changed],
        "unknown": [item.id for item in done if not item.changed],
    }
    if queue:
        report["queued"] = delivery.queued
    show(report, as_json, lambda: f"{len(report['deleted'])} deleted, {len(report['unknown'])} unknown")
    if use_cases.queue and not delivery.queued:
        raise not_queued(use_cases.queue, "the deletions are stored, and the documents are found until then.")
    if report["unknown"]:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--collection", "-c", required=True, help="The collection of the documents.")
@queue_option
@json_option
def retry(collection: str, queue: bool, as_json: bool) -> None:
    """Index again what failed, and what is waiting."""
    medley, chosen = open_medley(patient=True), chosen_queue(queue)
    store, index = medley.collections.store(collection), published_index(medley, collection)
    failed = [record.id for record in store.states(index, State.FAILED, EVERYTHING)] if chosen else []
    report: dict[str, Any] = {"collection": collection, "retried": store.retry(index)}
    if chosen is None:
        report |= index_all(medley, collection)
        text = f"{report['retried']} retried, {report['indexed']} indexed, {report['failed']} failed"
    else:
        report["queued"] = chosen.announce(QueueTarget(collection), failed)
        text = f"{report['retried']} documents wait for the workers"
    show(report, as_json, lambda: text)
    if chosen and not report["queued"]:
        raise not_queued(chosen, "the documents wait to be indexed again.")
    if report.get("failed"):
        raise click.exceptions.Exit(1)
