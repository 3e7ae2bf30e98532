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
from web.cli.common import json_option, show, table

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
    from web.cli.common import open_medley

    medley = open_medley()
    model = medley.models.encoder(encoder) if encoder else None
    show(mine_folder(labels, out, medley.settings.home / "mining", model), as_json)


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
    ship = _training("export.service")
    if ship.is_run(Path(checkpoint)):
        if kind or card:
            raise InvalidInput(
                f"{checkpoint} is a run: it knows its kind and card itself", field="kind" if kind else "card"
            )
        artifact = ship.ship(
            Path(checkpoint), pairs, out, serving=ship.Serving(serving["read"] or 0, serving["seen"] or 0)
        )
    elif serving["read"] or serving["seen"]:
        raise InvalidInput(
            f"{checkpoint} is no run: --read and --seen are for one", field="read" if serving["read"] else "seen"
        )
    elif kind is None:
        raise InvalidInput(
            f"{checkpoint} is no run of `medley train`: say with --kind what the checkpoint is", field="kind"
        )
    else:
        told = _card(card) if card else {}
        bases = _training("runs.initial")
        described = {"name": out.name} | bases.origin(checkpoint) | told
        artifact = _training("export.writer").export(bases.base_folder(checkpoint), kind, out, described, _texts(pairs))
    report = {"name": artifact.name, "fingerprint": artifact.fingerprint, "gate": artifact.manifest["gate"]}
    show(report, as_json, lambda: f"{out}: {artifact.fingerprint[:12]}")


def _card(path: Path) -> dict[str, Any]:
    """What a file tells of the model."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not there: --card names a file", field="card") from None
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})", field="card") from None
    if not isinstance(told, dict):
        raise InvalidInput(f"{path}: a card is a JSON object", field="card")
    return told


def _texts(pairs: Path, number: int = 128) -> list[tuple[str, str]]:
    """Held-out (query, passage) texts for the gate, in turn from every task, right and wrong passages."""
    from itertools import chain, islice, zip_longest

    from encoders.labels.pairs import read_pairs

    def of(file: Path) -> Iterator[tuple[str, str]]:
        for pair in read_pairs(file):
            if pair.split == "held-out":
                yield from ((pair.query, f"{text.title}. {text.text}") for text in (pair.positive, *pair.negatives[:1]))

    rows = zip_longest(*(of(file) for file in sorted(pairs.rglob("*.jsonl")) if file.parent.name != "corpora"))
    return list(islice((text for text in chain.from_iterable(rows) if text), number))
