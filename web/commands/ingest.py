"""`medley ingest`, `delete`, `retry`, `status` and `demo`: documents in and out, and where they stand."""

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
from web.commands.common import json_option, open_medley, progress, show, table
from web.commands.filling import fill
from workers.delivery import Delivery

BATCH = 500
SHOWN = 20
Record = Document | Deletion | Rejection
DEMO = Path(__file__).parents[1] / "demo"


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--collection", "-c", required=True, help="The collection; made when it is not there.")
@click.option("--format", "-f", "format_", default="jsonl", show_default=True, help="The format; see docs/formats.md.")
@click.option("--kind", default=None, help="Kind of a new collection; its own name when left out.")
@click.option("--store-only", is_flag=True, help="Accept the documents, index them later.")
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
    rejections: Path | None,
    as_json: bool,
) -> None:
    """Read documents from PATH (a file or a folder) into a collection and index them."""
    medley = open_medley(patient=True)
    made = ensure(medley, collection, kind)
    from mappings.formats.registry import read

    report = accept(medley, collection, read(path, format_, made), rejections)
    if not store_only:
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


def accept(medley: Medley, collection: str, records: Iterable[Record], file: Path | None = None) -> dict[str, Any]:
    """Carry out the records in the store, batch by batch; what was rejected is counted, the first few are named."""
    delivery = Delivery(medley.store(collection), collection)
    named: list[dict[str, str | None]] = []
    with progress("accepting") as advance, _lines(file) as write:
        for batch in _batches(iter(records)):
            rejected = [item for item in batch if isinstance(item, Rejection)]
            delivery.take([item for item in batch if not isinstance(item, Rejection)])
            delivery.reject(len(rejected))
            named += [item.as_json() for item in rejected[: SHOWN - len(named)]]
            write(rejected)
            advance(len(batch))
    return delivery.counts | {"rejections": named}


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
@json_option
def delete(ids: tuple[str, ...], collection: str, as_json: bool) -> None:
    """Delete the documents with these IDS."""
    medley = open_medley(patient=True)
    done = medley.store(collection).delete(ids)
    index_all(medley, collection)
    report = {"collection": collection, "deleted": [item.id for item in done if item.changed]}
    report["unknown"] = [item.id for item in done if not item.changed]
    show(report, as_json, lambda: f"{len(report['deleted'])} deleted, {len(report['unknown'])} unknown")
    if report["unknown"]:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--collection", "-c", required=True)
@json_option
def retry(collection: str, as_json: bool) -> None:
    """Index again what failed, and what waits."""
    from web.backlog import published

    medley = open_medley(patient=True)
    again = medley.store(collection).retry(published(medley, collection))
    report = {"collection": collection, "retried": again, **index_all(medley, collection)}
    show(report, as_json, lambda: f"{again} tried again, {report['indexed']} indexed, {report['failed']} failed")
    if report["failed"]:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--collection", "-c", default=None, help="One collection; all when left out.")
@click.option("--failed", is_flag=True, help="List the documents that failed, with their causes.")
@json_option
def status(collection: str | None, failed: bool, as_json: bool) -> None:
    """Show what is stored, indexed, waiting and failed."""
    medley = open_medley()
    names = [medley.collection(collection).name] if collection else medley.names()
    states = [_status(medley, name, failed) for name in names]
    head = ["collection", "kind", "documents", "indexed", "waiting", "failed", "passages", "index"]
    rows = [[str(state[name]) for name in head] for state in states]
    causes = [f"{item['id']}: {item['cause']}" for state in states for item in state.get("failures", [])]
    text = table(head, rows) if rows else "no collection yet: `medley demo` makes two, `medley ingest` makes your own"
    show({"collections": states}, as_json, lambda: "\n".join([text, *causes]))


def _status(medley: Medley, name: str, failed: bool) -> dict[str, Any]:
    from search.storage import State

    store, kind = medley.store(name), medley.collection(name).kind
    try:
        meta = medley.engine.resolve(name)
    except NotFound:
        counts = store.counts("")
        nothing = {"indexed": 0, "waiting": counts.documents, "failed": 0, "passages": 0, "index": ""}
        return {"collection": name, "kind": kind, "documents": counts.documents, "deleted": counts.deleted, **nothing}
    counts = store.counts(meta.index)
    state = {
        "collection": name,
        "kind": kind,
        "documents": counts.documents,
        "deleted": counts.deleted,
        "indexed": counts.states.get(State.INDEXED, 0),
        "waiting": counts.states.get(State.RECEIVED, 0),
        "failed": counts.states.get(State.FAILED, 0),
        "passages": meta.passages,
        "index": meta.index,
    }
    if failed:
        records = store.states(meta.index, State.FAILED)
        state["failures"] = [{"id": item.id, "version": item.version, "cause": item.cause} for item in records]
    return state


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
