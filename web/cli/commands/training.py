"""`medley mine`, `train` and `export`: from labelled pairs to a model directory. The last two need the extra `train`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mappings.errors import InvalidInput, Unavailable
from search.settings import read
from web.cli.common import json_option, open_medley, show, text_table

if TYPE_CHECKING:
    from encoders.artifact import Kind

folder = click.Path(path_type=Path, file_okay=False)


@contextmanager
def _needs_extra() -> Iterator[None]:
    """Around imports of training: raise `Unavailable` with what to install if a package is missing."""
    try:
        yield
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

    RECIPE alone is printed with all its settings. If MEDLEY_DATA is set, pairs that contain its evaluation data are
    refused.
    """
    from encoders.training.recipe import load_recipe

    chosen = load_recipe(recipe)
    if data is None:
        settings = chosen.as_json()
        show(
            settings,
            as_json,
            lambda: text_table(["setting", "value"], [[name, _plain(settings[name])] for name in settings]),
        )
        return
    if out is None:
        raise InvalidInput("OUT is missing: give a folder for the checkpoint, the log and the record", field="OUT")
    with _needs_extra():
        from encoders.training.runs.train import train as run_training
    with _status_line() as watch:
        report = run_training(chosen, data, out, evaluated=read().data, watch=watch)
    show(report, as_json)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _status_line() -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
    """A function that shows the newest entry of a run's log on one line of the terminal; None if stderr is not one."""
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
@click.option("--encoder", default="", help="A bi-encoder whose ranking is used with that of BM25.")
@json_option
def mine(labels: Path, out: Path, encoder: str, as_json: bool) -> None:
    """Find hard negatives for the pairs in LABELS; the mined pairs go to OUT."""
    from search.mining import mine_folder

    medley = open_medley()
    model = medley.models.encoder(encoder) if encoder else None
    show(mine_folder(labels, out, medley.settings.home / "mining", model), as_json)


@click.command()
@click.argument("checkpoint", metavar="RUN|CHECKPOINT")
@click.argument("out", type=folder)
@click.option(
    "--kind",
    type=click.Choice(["bi-encoder", "poly-encoder", "cross-encoder"]),
    help="The kind of a checkpoint; a run knows its own.",
)
@click.option("--pairs", type=folder, required=True, help="Folder of pairs; the gate uses the held-out ones.")
@click.option(
    "--card",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="A JSON file that describes the model.",
)
@click.option(
    "--read", type=click.IntRange(16, 4096), default=None, help="For a run: how many tokens it reads when serving."
)
@click.option(
    "--seen", type=click.IntRange(0), default=0, help="For a run: leave out tokens that occur less often in the pairs."
)
@json_option
def export(
    checkpoint: str,
    out: Path,
    kind: Kind | None,
    pairs: Path,
    card: Path | None,
    as_json: bool,
    **serving: int | None,
) -> None:
    """Export the result of `medley train` in RUN, or a Hugging Face CHECKPOINT (folder, name or `minilm`), as the model directory OUT.

    A model is written only if it passes the gate. The gate of a run has judged queries, and its card names recipe, data
    and scores.
    """
    with _needs_extra():
        from encoders.training.export import service as ship
        from encoders.training.export.writer import export as export_checkpoint
        from encoders.training.runs import initial as bases
    if ship.is_run(Path(checkpoint)):
        if kind or card:
            raise InvalidInput(
                f"{checkpoint} is a run, which has its own kind and card", field="kind" if kind else "card"
            )
        artifact = ship.ship(
            Path(checkpoint), pairs, out, serving=ship.Serving(serving["read"] or 0, serving["seen"] or 0)
        )
    elif serving["read"] or serving["seen"]:
        raise InvalidInput(
            f"{checkpoint} is not a run: --read and --seen are only for runs",
            field="read" if serving["read"] else "seen",
        )
    elif kind is None:
        raise InvalidInput(
            f"{checkpoint} is not a run of `medley train`: give the kind of the checkpoint with --kind", field="kind"
        )
    else:
        described = {"name": out.name} | bases.origin(checkpoint) | (_read_card(card) if card else {})
        artifact = export_checkpoint(bases.base_folder(checkpoint), kind, out, described, _held_out_texts(pairs))
    report = {"name": artifact.name, "fingerprint": artifact.fingerprint, "gate": artifact.manifest["gate"]}
    show(report, as_json, lambda: f"{out}: {artifact.fingerprint[:12]}")


def _read_card(path: Path) -> dict[str, Any]:
    """The description of a model in a JSON file."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist: --card names a file", field="card") from None
    except ValueError as error:
        raise InvalidInput(f"{path} is not valid JSON ({error})", field="card") from None
    if not isinstance(card, dict):
        raise InvalidInput(f"{path}: a card must be a JSON object", field="card")
    return card


def _held_out_texts(pairs: Path, number: int = 128) -> list[tuple[str, str]]:
    """Held-out (query, passage) texts for the gate, from every task in turn, with right and wrong passages."""
    from itertools import chain, islice, zip_longest

    from encoders.labels.pairs import read_pairs

    def texts_of(file: Path) -> Iterator[tuple[str, str]]:
        for pair in read_pairs(file):
            if pair.split == "held-out":
                yield from ((pair.query, f"{text.title}. {text.text}") for text in (pair.positive, *pair.negatives[:1]))

    rows = zip_longest(*(texts_of(file) for file in sorted(pairs.rglob("*.jsonl")) if file.parent.name != "corpora"))
    return list(islice((text for text in chain.from_iterable(rows) if text), number))
