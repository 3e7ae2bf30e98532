"""`medley ingest`, `delete`, `retry` and `demo`: documents in and out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import click

from mappings.documents import Deletion, Document, Rejection
from mappings.errors import MedleyError, NotFound
from search.bootstrap import Medley
from search.storage import State
from web.commands.common import json_option, open_line, open_medley, progress, queue_option, show
from web.commands.filling import fill
from workers.delivery import Delivery
from workers.queue import Queue

BATCH = 500
EVERYTHING = 2**62
SHOWN = 20
Record = Document | Deletion | Rejection
DEMO = Path(__file__).parents[1] / "demo"


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--collection", "-c", required=True, help="The collection; made when it is not there.")
@click.option(
    "--format", "-f", "format_", default="jsonl", show_default=True, help="The format; see docs/user/formats.md."
)
@click.option("--kind", default=None, help="Kind of a new collection; its own name when left out.")
@click.option("--store-only", is_flag=True, help="Accept the documents, index them later.")
@queue_option
@click.option(
    "--rejections",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every rejected record here, as JSON lines.",
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
    """Read documents from PATH (a file or a folder) into a collection and index them."""
    medley, line = open_medley(patient=True), open_line(queue)
    made = ensure(medley, collection, kind)
    from mappings.formats.registry import read

    report = accept(medley, collection, read(path, format_, made), rejections, line)
    if not (store_only or queue):
        report |= index_all(medley, collection)
    show({"collection": collection, **report}, as_json, lambda: _report(report))
    if report["rejected"] or report.get("failed"):
        raise click.exceptions.Exit(1)


def ensure(medley: Medley, collection: str, kind: str | None) -> Any:
    """The collection; made of `kind`, or of the kind of its own name, when it is not there."""
    if kind is None and collection in medley.names():
        return medley.collection(collection)
    try:
        return medley.create(collection, kind)
    except NotFound as error:
        raise NotFound(f"{error.message}: say --kind for a collection of another name", field="kind") from error


def accept(
    medley: Medley, collection: str, records: Iterable[Record], file: Path | None = None, line: Queue | None = None
) -> dict[str, Any]:
    """Carry out the records in the store, batch by batch; what was rejected is counted, the first few are named."""
    delivery = Delivery(medley.store(collection), collection, line)
    named: list[dict[str, str | None]] = []
    with progress("accepting") as advance, _lines(file) as write:
        for batch in _batches(iter(records)):
            rejected = [item for item in batch if isinstance(item, Rejection)]
            delivery.take([item for item in batch if not isinstance(item, Rejection)])
            delivery.reject(len(rejected))
            named += [item.as_json() for item in rejected[: SHOWN - len(named)]]
            write(rejected)
            advance(len(batch))
    job = delivery.finish()
    return delivery.counts | {"rejections": named} | ({"job": job.id} if line else {})


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(records, BATCH)):
        yield batch


@contextmanager
def _lines(file: Path | None) -> Iterator[Callable[[list[Rejection]], None]]:
    """A function that writes rejections as JSON lines to `file`, or nowhere."""
    if file is None:
        yield lambda rejected: None
        return
    with file.open("w", encoding="utf-8") as handle:
        yield lambda rejected: handle.writelines(
            json.dumps(item.as_json(), ensure_ascii=False) + "\n" for item in rejected
        )


def index_all(medley: Medley, collection: str) -> dict[str, Any]:
    """Index what is waiting; how many were indexed and how many failed, the first few with their causes."""
    indexed, failed = 0, []
    with progress("indexing") as advance:
        for outcome in fill(medley, collection):
            advance(1)
            if outcome.cause:
                failed.append({"id": outcome.id, "cause": outcome.cause})
            else:
                indexed += 1
    return {"indexed": indexed, "failed": len(failed), "failures": failed[:SHOWN]}


def _report(report: dict[str, Any]) -> str:
    names = ("accepted", "unchanged", "deleted", "rejected", "indexed", "failed")
    lines = [", ".join(f"{report[name]} {name}" for name in names if name in report)]
    lines += [f"rejected {item['source']}, {item['position']}: {item['reason']}" for item in report["rejections"]]
    lines += [f"failed {item['id']}: {item['cause']}" for item in report.get("failures", [])]
    if report["rejected"] > len(report["rejections"]):
        lines.append(f"… and {report['rejected'] - len(report['rejections'])} more: --rejections FILE writes them all")
    return "\n".join(lines)


@click.command()
@click.argument("ids", nargs=-1, required=True)
@click.option("--collection", "-c", required=True)
@queue_option
@json_option
def delete(ids: tuple[str, ...], collection: str, queue: bool, as_json: bool) -> None:
    """Delete the documents with these IDS."""
    medley, line = open_medley(patient=True), open_line(queue)
    done = medley.store(collection).delete(ids)
    if line is None:
        index_all(medley, collection)
    else:
        line.announce(collection, [item.id for item in done if item.changed])
    report = {"collection": collection, "deleted": [item.id for item in done if item.changed]}
    report["unknown"] = [item.id for item in done if not item.changed]
    show(report, as_json, lambda: f"{len(report['deleted'])} deleted, {len(report['unknown'])} unknown")
    if report["unknown"]:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--collection", "-c", required=True)
@queue_option
@json_option
def retry(collection: str, queue: bool, as_json: bool) -> None:
    """Index again what failed, and what waits."""
    from web.backlog import published

    medley, line = open_medley(patient=True), open_line(queue)
    store, index = medley.store(collection), published(medley, collection)
    failed = [record.id for record in store.states(index, State.FAILED, EVERYTHING)] if line else []
    report: dict[str, Any] = {"collection": collection, "retried": store.retry(index)}
    if line is None:
        report |= index_all(medley, collection)
        text = f"{report['retried']} tried again, {report['indexed']} indexed, {report['failed']} failed"
    else:
        line.announce(collection, failed)
        text = f"{report['retried']} are tried again by the workers"
    show(report, as_json, lambda: text)
    if report.get("failed"):
        raise click.exceptions.Exit(1)


@click.command()
@json_option
def demo(as_json: bool) -> None:
    """Make the demo collections, wholly invented abstracts and notes, and index them."""
    from mappings.formats.registry import read

    medley, reports = open_medley(patient=True), {}
    for file in sorted(DEMO.glob("*.jsonl")):
        made = ensure(medley, file.stem, None)
        report = accept(medley, file.stem, read(file, "jsonl", made)) | index_all(medley, file.stem)
        if report["rejected"] or report["failed"]:
            raise MedleyError(f"{file.name}: {_report(report)}", field=file.name)
        reports[file.stem] = report
    show(
        reports,
        as_json,
        lambda: "\n".join(f"{name}: {report['accepted']} documents" for name, report in reports.items()),
    )
