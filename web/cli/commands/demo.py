"""`medley demo`: the invented documents to try Medley with, in collections of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from mappings.errors import InvalidInput, MedleyError
from search.bootstrap import Medley
from web.cli.commands.collection import confirm_deletion, delete_one, deleted_text, yes_option
from web.cli.commands.ingest import accept, index_all, report_text
from web.cli.common import json_option, open_medley, open_use_cases, show
from web.demo_collections import demo_files


@click.command()
@click.option("--remove", is_flag=True, help="Delete the demo collections again.")
@yes_option
@json_option
def demo(remove: bool, yes: bool, as_json: bool) -> None:
    """Create the demo collections, of invented abstracts and notes, and index them.

    They are collections of their own, marked as invented wherever a document of them is shown.
    """
    medley = open_medley(patient=True)
    if remove:
        _remove(medley, yes, as_json)
        return
    if yes:
        raise InvalidInput("--yes confirms --remove, which is not given", field="yes")
    reports = {name: _fill(medley, name) for name in demo_files()}
    show(reports, as_json, lambda: _text(reports))


def _fill(medley: Medley, name: str) -> dict[str, Any]:
    """Create and index one collection of the demo."""
    from mappings.formats.registry import read

    file = demo_files()[name]
    made = medley.collections.create(name, file.stem, invented=True)
    report = accept(open_use_cases(medley), name, read(file, "jsonl", made)) | index_all(medley, name)
    if report["rejected"] or report["failed"]:
        raise MedleyError(f"{file.name}: {report_text(report)}", field=file.name)
    return report


def _remove(medley: Medley, yes: bool, as_json: bool) -> None:
    catalog = medley.engines.catalog
    entries = {name: catalog.read(name) for name in demo_files()}
    names = [name for name, entry in entries.items() if entry is not None and entry.invented]
    if names:
        confirm_deletion(medley, names, yes)
    reports = [delete_one(medley, name) for name in names]
    show(
        {"removed": reports},
        as_json,
        lambda: "\n".join(map(deleted_text, reports)) or "there is no demo collection: nothing was deleted",
    )


def _text(reports: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [f"{name}: {report['accepted']} invented documents" for name, report in reports.items()]
    return "\n".join([*lines, "delete them with `medley demo --remove`"])
