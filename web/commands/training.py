"""`medley mine`, `train` and `export`: from labelled pairs to a model directory. The last two need the extra `train`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from mappings.errors import InvalidInput, Unavailable
from search.settings import read
from web.commands.common import json_option, show, table

folder = click.Path(path_type=Path, file_okay=False)


def _training(module: str) -> Any:
    try:
        return importlib.import_module(f"encoders.training.{module}")
    except ImportError as error:
        raise Unavailable(
            f"training needs more packages ({error.name}): pip install -e '.[train]'", field="train"
        ) from error


@click.command()
@click.argument("recipe")
@click.argument("data", type=folder, required=False)
@click.argument("out", type=folder, required=False)
@json_option
def train(recipe: str, data: Path | None, out: Path | None, as_json: bool) -> None:
    """Train by RECIPE (a name or a TOML file) on the mined pairs in DATA; the checkpoint goes to OUT.

    RECIPE alone is printed with every setting. Where MEDLEY_DATA is set, pairs that hold its evaluation data are
    refused.
    """
    from encoders.training.recipe import load_recipe

    chosen = load_recipe(recipe)
    if data is None:
        settings = chosen.as_json()
        show(
            settings,
            as_json,
            lambda: table(["setting", "value"], [[name, _plain(settings[name])] for name in settings]),
        )
        return
    if out is None:
        raise InvalidInput("OUT is missing: the folder for the checkpoint, the log and the record", field="OUT")
    with _watched() as watch:
        report = _training("runs.train").train(chosen, data, out, evaluated=read().data, watch=watch)
    show(report, as_json)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _watched() -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
    """Shows the newest entry of a run's log on one line of a terminal; None where the error stream is none."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("preparing") as status:
        yield lambda entry: status.update(_progress(entry))


def _progress(entry: Mapping[str, Any]) -> str:
    """An entry of a run's log in a few words."""
    if "scored" in entry:
        return f"{entry['scored']}: {entry['queries']} of {entry['of']} queries"
    if "dev" in entry:
        return f"step {entry['step']}: RR {entry['dev']['mean']['RR']} on held-out pairs"
    if "loss" in entry:
        left = (entry["steps"] - entry["step"]) * entry["seconds_per_step"]
        return f"step {entry['step']} of {entry['steps']}, loss {entry['loss']}, {left / 60:.0f} minutes to go"
    return f"{entry['batches']} batches of {sum(entry['pairs'].values())} pairs"


@click.command()
@click.argument("labels", type=folder)
@click.argument("out", type=folder)
@click.option("--encoder", default="", help="A bi-encoder whose ranking joins BM25's.")
@json_option
def mine(labels: Path, out: Path, encoder: str, as_json: bool) -> None:
    """Find hard negatives for the pairs in LABELS; the mined pairs go to OUT."""
    from search.mining import mine_folder
    from web.commands.common import open_medley

    medley = open_medley()
    model = medley.encoder(encoder) if encoder else None
    show(mine_folder(labels, out, medley.home / "mining", model), as_json)


@click.command()
@click.argument("checkpoint", metavar="RUN|CHECKPOINT")
@click.argument("out", type=folder)
@click.option(
    "--kind",
    type=click.Choice(["bi-encoder", "poly-encoder", "cross-encoder"]),
    help="Of a checkpoint; a run knows its own.",
)
@click.option("--pairs", type=folder, required=True, help="Folder of pairs; held-out ones are the texts of the gate.")
@click.option(
    "--card", type=click.Path(path_type=Path, dir_okay=False), default=None, help="JSON that describes the model."
)
@click.option("--read", type=click.IntRange(16, 4096), default=None, help="Of a run: tokens read when it serves.")
@click.option(
    "--seen", type=click.IntRange(0), default=0, help="Of a run: leave out tokens that the pairs hold less often."
)
@json_option
def export(
    checkpoint: str,
    out: Path,
    kind: str | None,
    pairs: Path,
    card: Path | None,
    as_json: bool,
    **serving: int | None,
) -> None:
    """Export what `medley train` left in RUN, or a Hugging Face CHECKPOINT (folder, name or `minilm`), as the model directory OUT.

    Only what passes the gate is written. A run's gate has judged queries, and its card tells recipe, data and scores.
    """
    service = _training("export.service")
    chosen = service.Serving(serving["read"] or 0, serving["seen"] or 0)
    artifact = service.export_model(checkpoint, pairs, out, kind, card, chosen)
    report = {"name": artifact.name, "fingerprint": artifact.fingerprint, "gate": artifact.manifest["gate"]}
    show(report, as_json, lambda: f"{out}: {artifact.fingerprint[:12]}")
