"""`medley mine`, `train` and `export`: from labelled pairs to a model directory. The last two need the extra `train`."""

from __future__ import annotations

import json
import os
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
@click.option(
    "--unknown-ancestry",
    is_flag=True,
    help="Start from models of which it is not recorded what they were trained on; the new model's record says so.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value of one of the recipe's settings; may be repeated.",
)
@json_option
def train(
    recipe: str, data: Path | None, out: Path | None, unknown_ancestry: bool, changes: tuple[str, ...], as_json: bool
) -> None:
    """Train by RECIPE (a name or a TOML file) on the mined pairs in DATA; the checkpoint goes to OUT.

    RECIPE alone is printed with all its settings. Processes that torchrun starts share each batch. If MEDLEY_DATA is
    set, pairs that contain its evaluation data are refused, and so are models, as base, teacher or prior, that were
    trained on it.
    """
    from encoders.training.kinds import load_any_recipe

    chosen = load_any_recipe(recipe, changes)
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
        from encoders.training.kinds import start_run
    with _status_line() as watch:
        report = start_run(chosen, data, out, evaluated=read().data, watch=watch, unknown_ancestry=unknown_ancestry)
    if _is_first():
        show(report, as_json)


def _is_first() -> bool:
    """Whether this process speaks for those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _status_line() -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
    """A function that shows the newest entry of a run's log on one line of the terminal; None if stderr is not one."""
    if not (sys.stderr.isatty() and _is_first()):
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
@click.option("--task", "tasks", multiple=True, help="Mine only this task's pairs; may be repeated. Default: all.")
@click.option(
    "--first",
    type=click.IntRange(1),
    default=None,
    help="As CLAIMS: the first so many candidates by BM25+† (rank-bm25, extra eval), in order; none is drawn.",
)
@click.option("--depth", type=click.IntRange(1), default=500, show_default=True, help="With --first: the candidates.")
@json_option
def mine(
    labels: Path, out: Path, encoder: str, tasks: tuple[str, ...], first: int | None, depth: int, as_json: bool
) -> None:
    """Find hard negatives for the pairs in LABELS; the mined pairs go to OUT."""
    from search.mining import Mining, mine_folder

    if first is not None:
        if encoder:
            raise InvalidInput("--first ranks by words alone: leave out --encoder", field="encoder")
        from evaluation.baselines.candidates import mine_candidates

        mined = mine_candidates(labels, out, Mining(count=first, depth=depth, best=True), tasks)
        show(mined, as_json)
        _warn_of_lonely(out, mined)
        return
    medley = open_medley()
    model = medley.models.encoder(encoder) if encoder else None
    mined = mine_folder(labels, out, medley.settings.home / "mining", model, tasks=tasks)
    show(mined, as_json)
    _warn_of_lonely(out, mined)


def _warn_of_lonely(out: Path, mined: Mapping[str, int]) -> None:
    """Say of which tasks some pairs got no negative: a recipe that needs some leaves these out."""
    from encoders.labels.pairs import read_pairs

    for task, count in mined.items():
        lonely = sum(not (pair.negatives or pair.stance) for pair in read_pairs(out / f"{task}.jsonl"))
        if lonely:
            click.echo(
                f"{task}: {lonely:,} of {count:,} pairs have no negative: all that was found for them answers them, or has "
                "title and heading of an answer",
                err=True,
            )


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
    "--read-query", type=click.IntRange(4, 4096), default=None, help="The same of a query. Default: as in training."
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
        from encoders.training.export import service
    chosen = service.Serving(**{name: value or 0 for name, value in serving.items()})
    artifact = service.export_model(checkpoint, pairs, out, kind, card, chosen)
    report = {"name": artifact.name, "fingerprint": artifact.fingerprint, "gate": artifact.manifest["gate"]}
    show(report, as_json, lambda: f"{out}: {artifact.fingerprint[:12]}")
