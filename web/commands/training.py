"""`medley mine`, `train` and `export`: from labelled pairs to a model directory. The last two need the extra `train`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mappings.errors import InvalidInput, Unavailable
from web.commands.common import json_option, show

folder = click.Path(path_type=Path, file_okay=False)


def _training(module: str) -> Any:
    try:
        return importlib.import_module(f"encoders.training.{module}")
    except ImportError as error:
        raise Unavailable(
            f"training needs more packages ({error.name}): pip install 'medley[train]'", field="train"
        ) from error


@click.command()
@click.argument("recipe")
@click.argument("data", type=folder)
@click.argument("out", type=folder)
@json_option
def train(recipe: str, data: Path, out: Path, as_json: bool) -> None:
    """Train by RECIPE (a name or a TOML file) on the mined pairs in DATA; the checkpoint goes to OUT."""
    show(_training("run").train(recipe, data, out), as_json)


@click.command()
@click.argument("labels", type=folder)
@click.argument("out", type=folder)
@click.option("--encoder", default="", help="A bi-encoder whose ranking joins BM25's, where the mining says so.")
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
    "--kind", type=click.Choice(["bi-encoder", "cross-encoder"]), help="Of a checkpoint; a run knows its own."
)
@click.option("--pairs", type=folder, required=True, help="Folder of pairs; held-out ones are the texts of the gate.")
@click.option(
    "--card", type=click.Path(path_type=Path, dir_okay=False), default=None, help="JSON that describes the model."
)
@json_option
def export(checkpoint: str, out: Path, kind: str | None, pairs: Path, card: Path | None, as_json: bool) -> None:
    """Export what `medley train` left in RUN, or a Hugging Face CHECKPOINT (folder or name), as the model directory OUT.

    Only what passes the gate is written. A run's gate has judged queries, and its card tells recipe, data and scores.
    """
    if (Path(checkpoint) / "report.json").is_file():
        if kind or card:
            raise InvalidInput(
                f"{checkpoint} is a run: it knows its kind and card itself", field="kind" if kind else "card"
            )
        artifact = _training("ship").ship(Path(checkpoint), pairs, out)
    elif kind is None:
        raise InvalidInput(
            f"{checkpoint} holds no report.json of `medley train`: say with --kind what the checkpoint is", field="kind"
        )
    else:
        told = json.loads(card.read_text(encoding="utf-8")) if card else {}
        described = {"name": out.name, "base": checkpoint} | told
        artifact = _training("export").export(checkpoint, kind, out, described, _texts(pairs))
    report = {"name": artifact.name, "fingerprint": artifact.fingerprint, "gate": artifact.manifest["gate"]}
    show(report, as_json, lambda: f"{out}: {artifact.fingerprint[:12]}")


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
