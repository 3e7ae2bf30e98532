"""`medley label`: documents label themselves; each subcommand makes training pairs in a way of its own."""

from __future__ import annotations

from pathlib import Path

import click

from mappings.errors import InvalidInput
from search.settings import Settings, read
from web.commands.common import json_option, show

folder = click.Path(path_type=Path, file_okay=False)


@click.group()
def label() -> None:
    """Make training pairs from documents and judgements."""


@label.command()
@click.argument("out", type=folder)
@json_option
def pairs(out: Path, as_json: bool) -> None:
    """Make training pairs and their corpora from the data sets of MEDLEY_DATA, into OUT."""
    from encoders.labels.run import label as make

    show(make(_data(read()), out), as_json)


@label.command()
@click.argument("out", type=folder)
@json_option
def findings(out: Path, as_json: bool) -> None:
    """Label the sentences of chest X-ray reports in MEDLEY_DATA with their findings, there or ruled out, into OUT."""
    from encoders.labels.findings import label as make

    show(make(_data(read()), out), as_json)


def _data(settings: Settings) -> Path:
    if settings.data is None:
        raise InvalidInput("MEDLEY_DATA is not set: name the folder of the data sets", field="MEDLEY_DATA")
    return settings.data
