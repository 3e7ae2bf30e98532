"""`medley label`, `mine`, `train` and `export`: from documents to a model directory. Needs the extra `train`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings, read
from web.commands.common import json_option, show

folder = click.Path(path_type=Path, file_okay=False)


def _data(settings: Settings) -> Path:
    if settings.data is None:
        raise InvalidInput("MEDLEY_DATA is not set: name the folder of the data sets", field="MEDLEY_DATA")
    return settings.data


def _training(module: str) -> Any:
    try:
        return importlib.import_module(f"encoders.training.{module}")
    except ImportError as error:
        raise Unavailable(
            f"training needs more packages ({error.name}): pip install 'medley[train]'", field="train"
        ) from error


@click.command()
@click.argument("out", type=folder)
@json_option
def label(out: Path, as_json: bool) -> None:
    """Make training pairs and their corpora from the data sets of MEDLEY_DATA, into OUT."""
    from encoders.labels.run import label as make

    show(make(_data(read()), out), as_json)


@click.command()
@click.argument("recipe")
@click.argument("data", type=folder)
@click.argument("out", type=folder)
@json_option
def train(recipe: str, data: Path, out: Path, as_json: bool) -> None:
    """Train by RECIPE (a name or a TOML file) on the mined pairs in DATA; the checkpoint goes to OUT."""
    show(_training("run").train(recipe, data, out), as_json)
