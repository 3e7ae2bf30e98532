"""`medley index`."""

from __future__ import annotations

from typing import Any

import click

from search.bootstrap import Medley
from web.cli.common import chosen_queue, json_option, open_medley, progress, queue_option, show, text_table


@click.group()
def index() -> None:
    """Create, rebuild, verify, drop and list indexes."""


@index.command()
@click.argument("collection")
@click.option("--kind", default=None, help="Kind of the collection; by default its own name.")
@json_option
def create(collection: str, kind: str | None, as_json: bool) -> None:
    """Create a COLLECTION, and its first index from what its store holds."""
    from web.cli.indexing import fill_quietly

    medley = open_medley(patient=True)
    medley.collections.create(collection, kind)
    fill_quietly(medley, collection)
    _show_list(medley, collection, as_json)


@index.command()
@click.argument("collection")
@click.option("--encoder", default=None, help="The bi-encoder of the new index; by default that of the collection.")
@queue_option
@json_option
def rebuild(collection: str, encoder: str | None, queue: bool, as_json: bool) -> None:
    """Index COLLECTION again, with the current models and weights, and publish the new index in one step.

    With --queue all workers fill it together; `medley status` shows their progress. Repeating the command continues the
    rebuild.
    """
    from web.cli.indexing import begin_rebuild

    medley, chosen = open_medley(patient=True), chosen_queue(queue)
    if chosen is not None:
        name = begin_rebuild(medley, collection, encoder, chosen)
        report = {"collection": collection, "building": name}
        show(
            report,
            as_json,
            lambda: f"the workers fill {name}, which is published when it is complete: see `medley status`",
        )
        return
    _rebuild_here(medley, collection, encoder, as_json)


def _rebuild_here(medley: Medley, collection: str, encoder: str | None, as_json: bool) -> None:
    from web.cli.indexing import rebuild as build
    from web.cli.indexing import unread_lines, unread_sentences
    from workers.indexing.indexer import IndexingStatistics

    failed, work = [], IndexingStatistics()
    total = medley.collections.store(collection).counts("").documents
    with progress("rebuilding", total) as advance:
        for outcome in build(medley, collection, encoder, work):
            advance(1)
            failed += [{"id": outcome.id, "cause": outcome.cause}] if outcome.cause else []
    meta = medley.engine.resolve(collection)
    report = {
        "collection": collection,
        "index": meta.index,
        "documents": meta.documents,
        "passages": meta.passages,
        "failed": failed,
        **unread_sentences(work),
    }
    show(
        report,
        as_json,
        lambda: "\n".join(
            [
                f"{meta.index}: {meta.documents} documents, {meta.passages} passages, {len(failed)} failed",
                *unread_lines(report),
            ]
        ),
    )


@index.command()
@click.argument("collection")
@json_option
def verify(collection: str, as_json: bool) -> None:
    """Compare the published index of COLLECTION with its store, models and settings, and suggest what to do.

    Every file is read and compared with its checksums, and every stored document with its hash.
    """
    from workers.indexing.indexer import Indexer
    from workers.indexing.inspection import inspect

    medley = open_medley()
    found = inspect(Indexer.of(medley, collection))
    index = medley.engine.published(collection)
    problems = [
        {"problem": item.problem, "action": item.action, "count": item.count, "examples": list(item.examples)}
        for item in found
    ]
    show(
        {"index": index, "problems": problems},
        as_json,
        lambda: "\n".join(map(str, found)) or f"{index} is complete and consistent",
    )
    if found:
        raise click.exceptions.Exit(1)


@index.command()
@click.argument("name", metavar="INDEX")
@json_option
def drop(name: str, as_json: bool) -> None:
    """Delete an INDEX that is not published."""
    from web.cli.indexing import forget

    medley = open_medley()
    medley.engine.drop(name)
    forget(medley, name)
    show({"dropped": name}, as_json, lambda: f"dropped {name}")


@index.command("list")
@click.argument("collection", required=False)
@json_option
def list_(collection: str | None, as_json: bool) -> None:
    """List every index, or those of COLLECTION."""
    medley = open_medley()
    if collection:
        medley.collections.get(collection)
    _show_list(medley, collection, as_json)


def _show_list(medley: Any, collection: str | None, as_json: bool) -> None:
    found = [_described(meta, published) for meta, published in medley.engine.list(collection)]
    head = ["index", "published", "documents", "passages", "commit"]
    rows = [[str(item[name]) for name in head] for item in found]
    show({"indexes": found}, as_json, lambda: text_table(head, rows))


def _described(meta: Any, published: bool) -> dict[str, Any]:
    return {
        "index": meta.index,
        "collection": meta.collection,
        "published": published,
        "documents": meta.documents,
        "passages": meta.passages,
        "commit": meta.commit,
        "encoders": dict(meta.encoders),
        "analysis": meta.analysis,
    }
