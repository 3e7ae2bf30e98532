"""`medley settings`."""

from __future__ import annotations

import click

from search.settings import describe, read
from web.cli.common import json_option, show, text_table


@click.command()
@json_option
def settings(as_json: bool) -> None:
    """Show every setting, its value and its meaning."""
    values = read().as_json()
    rows = [
        [variable, str(values[variable.removeprefix("MEDLEY_").lower()] or ""), meaning]
        for variable, _, meaning in describe()
    ]
    show(values, as_json, lambda: text_table(["variable", "value", "meaning"], rows))
