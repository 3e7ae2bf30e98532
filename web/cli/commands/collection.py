"""`medley collection`: listing, showing, deleting and renaming collections."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import click

from mappings.errors import InvalidInput, MedleyError
from search.bootstrap import Medley
from web.cli.commands.status import collection_status
from web.cli.common import json_option, open_medley, open_use_cases, progress, show, text_table

_LISTED: Final = ("collection", "kind", "documents", "passages", "waiting", "failed", "size", "invented")
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation; needed without a terminal.")


@click.group()
def collection() -> None:
    """List, show, delete and rename collections."""


@collection.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every collection."""
    medley = open_medley()
    found = [_described(medley, name) for name in medley.collections.names()]
    unfinished = [_unfinished(medley, name) for name in medley.engines.catalog.hidden()]
    show({"collections": found, "unfinished": unfinished}, as_json, lambda: _list_text(found, unfinished))


@collection.command("show")
@click.argument("name")
@json_option
def show_(name: str, as_json: bool) -> None:
    """Show the collection NAME: its documents, indexes and size."""
    medley = open_medley()
    found = _described(medley, medley.collections.get(name).name)
    show(found, as_json, lambda: _show_text(found))


@collection.command()
@click.argument("name")
@yes_option
@json_option
def delete(name: str, yes: bool, as_json: bool) -> None:
    """Delete the collection NAME for ever: its documents, indexes, jobs, weights, and what is queued or kept for it.

    On a terminal it asks for the name first. Its lines in the access log stay, and so do backups.
    """
    from workers.collections.removal import find_removable

    medley = open_medley(patient=True)
    find_removable(medley, name)
    confirm_deletion(medley, [name], yes)
    report = delete_one(medley, name)
    show(report, as_json, lambda: deleted_text(report))


def confirm_deletion(medley: Medley, names: list[str], yes: bool) -> None:
    """Ask for the name on a terminal. Raises `InvalidInput` for another one, and where there is nobody to ask."""
    if yes:
        return
    listed = ", ".join(names)
    if not sys.stdin.isatty():
        raise InvalidInput(f"this deletes {listed} for ever: without a terminal, confirm it with --yes", field="yes")
    for name in names:
        with suppress(MedleyError):  # it is deleted whether or not its documents can be counted
            count = medley.collections.store(name).counts("").documents
            click.echo(
                f"{name}: {count:,} document{'' if count == 1 else 's'}, with all indexes, will be deleted for ever.",
                err=True,
            )
    if click.prompt(f"To confirm, type {listed}", err=True).strip() != listed:
        raise InvalidInput(f"that is not {listed}: nothing was deleted", field="yes")


def delete_one(medley: Medley, name: str) -> dict[str, Any]:
    """Delete a collection and what is queued for it, both logged; what was deleted."""
    from workers.collections.removal import remove_collection

    use_cases = open_use_cases(medley)
    use_cases.audit("delete-collection", name, {})  # one that is killed halfway has deleted something, too
    with use_cases.audited("deleted-collection", name) as done:
        removed = remove_collection(medley, name)
        done |= {"documents": removed.documents, "indexes": list(removed.indexes)}
    messages, problem = _clear_queue(medley, name)
    return {
        "deleted": name,
        "kind": removed.kind,
        "documents": removed.documents,
        "indexes": list(removed.indexes),
        "messages": messages,
        "problem": problem,
    }


def _clear_queue(medley: Medley, name: str) -> tuple[int, str]:
    """How many messages were removed from the queue, and why they could not be."""
    from workers.queueing.queue import open_queue

    try:
        queue = open_queue(medley.settings)
        return (queue.drop(name) if queue else 0), ""
    except MedleyError as error:
        return 0, f"{error.message}; messages with ids of its documents stay in the queue until workers drop them"


def deleted_text(report: Mapping[str, Any]) -> str:
    """What was deleted, in a sentence."""
    documents, indexes = report["documents"], len(report["indexes"])
    count = (
        "documents that could not be counted"
        if documents is None
        else f"{documents:,} document{'s' * (documents != 1)}"
    )
    lines = [f"deleted {report['deleted']}: {count}, {indexes} index{'es' * (indexes != 1)}"]
    return "\n".join([*lines, *([report["problem"]] if report["problem"] else [])])


@collection.command()
@click.argument("name")
@click.argument("new_name")
@yes_option
@json_option
def rename(name: str, new_name: str, yes: bool, as_json: bool) -> None:
    """Rename the collection NAME to NEW_NAME.

    Its documents and index are copied without encoding anything again, which takes a while, and as much space as the
    collection has; searches under the old name go on meanwhile, deliveries are refused. Repeating the command completes one
    that was interrupted.
    """
    from workers.collections.renaming import check_rename, rename_collection

    medley = open_medley(patient=True)
    check_rename(medley, name, new_name)
    if not yes and not sys.stdin.isatty():
        raise InvalidInput(f"this renames {name} to {new_name}: without a terminal, confirm it with --yes", field="yes")
    if not yes:
        click.confirm(
            f"Rename {name} to {new_name}? Its addresses and the ids of its jobs change.", abort=True, err=True
        )
    use_cases, asked = open_use_cases(medley), {"to": new_name}
    use_cases.audit("rename-collection", name, asked)
    with use_cases.audited("renamed-collection", name, asked), progress("renaming") as advance:
        meta = rename_collection(medley, name, new_name, advance)
    _, problem = _clear_queue(medley, name)
    report = {
        "renamed": name,
        "to": new_name,
        "index": meta.index if meta else "",
        "documents": medley.collections.store(new_name).counts("").documents,
        "tokens": _tokens_for(medley, name),
        "problem": problem,
    }
    show(report, as_json, lambda: _renamed_text(report))


def _tokens_for(medley: Medley, name: str) -> list[str]:
    """The tokens that may write to the collection under its old name only."""
    from web.access import tokens

    return [f"{token.user} ({token.id})" for token in tokens.list_tokens(medley.settings.home) if name in token.writes]


def _renamed_text(report: Mapping[str, Any]) -> str:
    count = report["documents"]
    lines = [f"renamed {report['renamed']} to {report['to']}: {count:,} document{'s' * (count != 1)}"]
    lines += [
        f"the token of {token} may write to {report['renamed']}, not to {report['to']}: make another with `medley tokens add`"
        for token in report["tokens"]
    ]
    return "\n".join([*lines, *([report["problem"]] if report["problem"] else [])])


def _described(medley: Medley, name: str) -> dict[str, Any]:
    """A collection with its counts, its index generations and its size in bytes."""
    state = collection_status(medley, name)
    generations = [
        {
            "index": meta.index,
            "published": published,
            "documents": meta.documents,
            "passages": meta.passages,
            "encoders": dict(meta.encoders),
        }
        for meta, published in medley.engine.list(name)
    ]
    return state | {
        "invented": medley.collections.get(name).invented,
        "generations": generations,
        "bytes": medley.engines.catalog.size(name),
    }


def _unfinished(medley: Medley, name: str) -> dict[str, str]:
    """A collection that an interrupted command has left hidden, and the command that completes it."""
    entry = medley.engines.catalog.read(name)
    if entry is not None and entry.phase == "arriving":
        return {"collection": name, "state": "arriving", "command": f"medley collection rename {entry.origin} {name}"}
    return {"collection": name, "state": "leaving", "command": f"medley collection delete {name}"}


def _list_text(found: list[dict[str, Any]], unfinished: list[dict[str, str]]) -> str:
    rows = [[_cell(item, name) for name in _LISTED] for item in found]
    none = "no collection yet: `medley demo` makes two, `medley ingest` makes your own"
    lines = [text_table(list(_LISTED), rows) if rows else none]
    lines += [f"{item['collection']}: unfinished; run `{item['command']}` again" for item in unfinished]
    return "\n".join(lines)


def _cell(item: Mapping[str, Any], name: str) -> str:
    if name == "size":
        return size_text(item["bytes"])
    return ("yes" if item[name] else "") if name == "invented" else str(item[name])


def _show_text(found: Mapping[str, Any]) -> str:
    rows = [[name, _cell(found, name)] for name in _LISTED if name != "invented"]
    rows.append(["invented", "yes: the documents are made up" if found["invented"] else "no"])
    for item in found["generations"]:
        encoders = (
            ", ".join(f"{name} by encoder {mark[:12]}" for name, mark in item["encoders"].items()) or "words alone"
        )
        words = "published" if item["published"] else "not published"
        rows.append(["index", f"{item['index']}, {words}: {item['documents']:,} documents, {encoders}"])
    width = max(len(name) for name, _ in rows)
    problems = [found[name] for name in ("problem", "damage") if found.get(name)]
    return "\n".join([*(f"{name.ljust(width)}  {value}" for name, value in rows), *problems])


def size_text(count: float) -> str:
    """A number of bytes in words, such as 1.4 MB."""
    units = iter(_UNITS)
    unit = next(units)
    while count >= 1_000 and unit != _UNITS[-1]:
        count, unit = count / 1_000, next(units)
    return f"{count:.0f} {unit}" if unit == _UNITS[0] else f"{count:.1f} {unit}"
