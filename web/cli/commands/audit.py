"""`medley audit`."""

from __future__ import annotations

from pathlib import Path

import click

from search.settings import read
from web.cli.common import json_option, show


@click.group()
def audit() -> None:
    """Check the access log."""


@audit.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--from",
    "first",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="RECORD",
    help="The first record that is still kept; those before it need not be there.",
)
@json_option
def verify(files: tuple[Path, ...], first: int, as_json: bool) -> None:
    """Check that no record of the access log was altered, removed or put in later, and name the first line that breaks it.

    Rotated files beside the log are found by their names (access.log.1, access.log-20270101.gz); give FILES for those that
    lie elsewhere, in any order.
    """
    from web.access.log import FILE
    from web.access.log_check import check_log

    report = check_log(read().home / FILE, files, first)
    lines = [f"{report.unchained:,} lines of an earlier version, without a chain"] if report.unchained else []
    if report.last:
        lines.append(f"records {report.first:,} to {report.last:,} are intact; the last has the chain {report.chain}")
    lines.append(f"BROKEN at {report.broken}" if report.broken else "the access log is complete")
    show(report.as_json(), as_json, lambda: "\n".join(lines))
    if report.broken:
        raise click.exceptions.Exit(1)
