"""From a finished run to a model directory: the gate on held-out pairs, and a card that says where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, cast

import orjson

from encoders.artifact import Artifact, Kind, Reading
from encoders.labels.pairs import Pair, read_pairs
from encoders.training.architectures.architecture import Architecture
from encoders.training.architectures.checkpoint import Checkpoint, load
from encoders.training.architectures.families import positions
from encoders.training.data.batches import load_pairs, shown
from encoders.training.export.gate import Judged
from encoders.training.export.vocabulary import trim, used
from encoders.training.export.writer import export, may_write
from encoders.training.loop.optimise import entries
from encoders.training.recipe import Recipe, parse_recipe
from encoders.training.runs.record import RECORD
from mappings.errors import InvalidInput, NotFound

READING_TOKENS = {"bi-encoder": 256, "poly-encoder": 256, "cross-encoder": 512}
"""What a model reads when it serves. Training sees less, for its cost; positions beyond are those of the base."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What is decided at export: tokens read of a passage (0: by kind), and how often a token must occur to be kept.

    `seen` counts in the texts of the pairs; 0 keeps the whole vocabulary.
    """

    read: int = 0
    seen: int = 0


def ship(
    run: Path, data: Path, out: Path, texts: int = 192, queries: int = 192, serving: Serving = Serving()
) -> Artifact:
    """Export `run/checkpoint` to `out` with the held-out pairs of `data` as the gate's `texts` and judged `queries`.

    Raises `NotFound` for an unfinished run, `InvalidInput` where `out` holds what is no model, `ModelError` when the
    gate refuses.
    """
    may_write(out, run)
    report = _report(run)
    recipe = parse_recipe(report["recipe"], out.name)
    pairs = _in_turn(load_pairs(data, recipe, "held-out").values())
    ready = load(run / "checkpoint", cast(Kind, recipe.kind))
    if serving.seen:
        ready = trimmed(ready, _texts(data, recipe), serving.seen)
    return export(
        ready,
        cast(Kind, recipe.kind),
        out,
        {"name": out.name, **card(report, recipe, run), "export": asdict(serving)},
        [
            (pair.query, shown(text, True))
            for pair in pairs[: texts // 2]
            for text in (pair.positive, pair.negatives[0])
        ],
        reading(recipe, ready.model.config, serving.read),
        [judged(pair) for pair in pairs[:queries]],
    )


def trimmed(ready: Checkpoint, texts: Iterable[str], seen: int) -> Checkpoint:
    """The model without the tokens that occur less than `seen` times in `texts`."""
    model, tokenizer = trim(ready.model, ready.tokenizer, used(ready.tokenizer, texts, seen))
    return replace(ready, model=model, tokenizer=tokenizer)


def _texts(data: Path, recipe: Recipe) -> Iterator[str]:
    """Every pair's query, and every passage once."""
    known: set[str] = set()
    for pair in chain.from_iterable(read_pairs(data / f"{task}.jsonl") for task in recipe.tasks):
        fresh = [text for text in (pair.positive, *pair.negatives) if text.id not in known]
        known.update(text.id for text in fresh)
        yield from (pair.query, *(shown(text, True) for text in fresh))


def reading(recipe: Recipe, config: Any, read: int = 0) -> Reading:
    """How a model of the recipe reads texts when it serves. Raises `InvalidInput` for more than the base can."""
    most = positions(config) or max(READING_TOKENS.values())
    if read > most:
        raise InvalidInput(f"read is {read}; the base has positions for {most} tokens", field="read")
    longest = read or max(recipe.max_length, min(READING_TOKENS[recipe.kind], most))
    return Architecture.of(recipe).reading(config, recipe.max_query, longest)


def card(report: dict[str, Any], recipe: Recipe, run: Path) -> dict[str, Any]:
    """What describes the model: base, licence, recipe, data with counts, held-out scores, and the run's log."""
    return {
        **report.get("base", {"base": recipe.base, "licence": "that of the base"}),
        "recipe": report["recipe"],
        "data": {"training_pairs": report["pairs"], **report.get("data", {})},
        "held_out": report["held_out"],
        "log": [{name: entry[name] for name in entry if name != "time"} for entry in _log(run) if "step" in entry],
        **report.get("notes", {}),
    }


def judged(pair: Pair) -> Judged:
    """A held-out pair as a judged query: its positive against its mined candidates."""
    passages = (pair.positive, *pair.negatives)
    return Judged(pair.query, tuple(shown(text, True) for text in passages), (1.0,) + (0.0,) * len(pair.negatives))


def _in_turn(tasks: Iterable[list[Pair]]) -> list[Pair]:
    """The pairs with negatives, one of each task in turn."""
    rows = zip_longest(*(islice((pair for pair in found if pair.negatives), 200) for found in tasks))
    return [pair for pair in chain.from_iterable(rows) if pair]


def is_run(folder: Path) -> bool:
    """Whether `medley train` began a run in the folder, finished or not."""
    return (folder / RECORD).is_file() or (folder / "report.json").is_file()


def _report(run: Path) -> dict[str, Any]:
    """What the run ended with."""
    path = run / "report.json"
    if not path.is_file():
        raise NotFound(f"{path} is not there: the run has not finished; `medley train` goes on with it", field="run")
    found = _object(path.read_bytes(), str(path))
    if missing := [name for name in ("recipe", "pairs", "held_out") if not isinstance(found.get(name), dict)]:
        raise InvalidInput(f"{path} has no {missing[0]}: it is not what `medley train` wrote", field="run")
    return found


def _log(run: Path) -> list[dict[str, Any]]:
    """The entries of the run's log."""
    path = run / "log.jsonl"
    if not path.is_file():
        raise NotFound(f"{path} is not there: the card tells how the loss went, from the run's log", field="run")
    return entries(path)


def _object(content: bytes, place: str) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"{place}: not JSON ({error})", field="run") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{place}: not a JSON object", field="run")
    return found
