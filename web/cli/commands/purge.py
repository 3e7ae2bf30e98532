"""`medley purge`: removing replaced and deleted documents for ever."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from mappings.errors import InvalidInput
from search.bootstrap import Medley
from web.cli.common import json_option, open_medley, open_use_cases, show

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60}


@click.command()
@click.option("--collection", "-c", default=None, help="One collection; by default all.")
@click.option(
    "--older-than",
    default="0d",
    show_default=True,
    help="Keep what was replaced or deleted less long ago than this, such as 30d, 12h or 45m.",
)
@click.option("--id", "ids", multiple=True, help="Only the document with this id; can be given several times.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation on a terminal.")
@json_option
def purge(collection: str | None, older_than: str, ids: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Remove replaced versions and deleted documents for ever, from the store, the index and their files.

    Documents that are not deleted stay and are found. See docs/operator/erasure.md for what else may hold copies.
    """
    from workers.indexing.purge import clear_vector_cache

    seconds = parse_duration(older_than)
    if ids and collection is None:
        raise InvalidInput("an id is unique only within its collection: give it with --collection", field="collection")
    medley = open_medley(patient=True)
    names = medley.collections.names() if collection is None else [medley.collections.get(collection).name]
    if not yes and sys.stdin.isatty():
        click.confirm(_question(names, older_than, ids), abort=True, err=True)
    before = time.time() - seconds
    reports = [_purge_one(medley, name, before, ids) for name in names]
    clear_vector_cache(medley.settings.home)
    show({"collections": reports}, as_json, lambda: _text(reports))
    if any(report["waiting"] or report["kept"] for report in reports):
        raise click.exceptions.Exit(1)


def parse_duration(text: str) -> int:
    """The seconds of a duration such as `30d`, `12h` or `45m`. Raises `InvalidInput`."""
    found = re.fullmatch(r"(\d{1,6})([dhm])", text.strip())
    if not found:
        raise InvalidInput(f"{text[:40]!r} is not a duration; write it like 30d, 12h or 45m", field="older-than")
    return int(found[1]) * _UNITS[found[2]]


def _question(names: Sequence[str], older_than: str, ids: Sequence[str]) -> str:
    what = f"{len(ids)} documents" if ids else "everything that was replaced or deleted"
    since = "" if parse_duration(older_than) == 0 else f" more than {older_than} ago"
    return f"Remove {what}{since} from {', '.join(names) or 'no collection'} for ever?"


def _purge_one(medley: Medley, name: str, before: float, ids: Sequence[str]) -> dict[str, Any]:
    from web.cli.indexing import purge as purge_collection

    use_cases = open_use_cases(medley)
    asked = {"before": int(before)} | ({"ids": list(ids)} if ids else {})
    use_cases.audit("purge", name, asked)  # a purge that is killed halfway has removed something, too
    with use_cases.audited("purged", name) as done:
        stored = medley.collections.store(name).latest(ids)
        purged = purge_collection(medley, name, before, ids or None)
        done |= {"versions": purged.versions, "tombstones": purged.tombstones}
    return {
        "collection": name,
        "versions": purged.versions,
        "documents": purged.tombstones,
        "jobs": purged.jobs,
        "waiting": purged.waiting,
        "kept": sorted(item.id for item in stored.values() if item.document is not None),
    }


def _text(reports: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"{item['collection']}: {item['versions']} replaced versions, {item['documents']} deleted documents and "
        f"{item['jobs']} records of jobs removed for ever"
        for item in reports
    ]
    for item in reports:
        if item["waiting"]:
            lines.append(
                f"{item['collection']}: {item['waiting']} deleted documents stay until the index has processed them: run "
                f"`medley retry -c {item['collection']}`, or wait for the workers, then purge again"
            )
        lines += [f"{item['collection']}: {name} is not deleted, so its newest version stays" for name in item["kept"]]
    return "\n".join(lines) or "no collection yet: there is nothing to remove"
