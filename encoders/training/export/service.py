"""Export a model: from a finished run or a checkpoint to a model directory, through the gate.

The gate's texts are held-out pairs. A run knows its kind and recipe, so its export also has judged queries for the gate
and a card with recipe, data and scores; for a plain checkpoint both must be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Final, cast

import orjson

from encoders.ancestry.record import read_ancestry
from encoders.artifact import READ_TOGETHER, Artifact, Kind, Reading
from encoders.labels.augment import NEIGHBOURS
from encoders.labels.pairs import Pair, read_pairs
from encoders.training.architectures.architecture import Architecture
from encoders.training.architectures.bases import describe_base, resolve_base
from encoders.training.architectures.checkpoint import Checkpoint, load_checkpoint
from encoders.training.architectures.families import max_positions
from encoders.training.data.batches import load_pairs, render_text
from encoders.training.discourse.recipe import KIND as DISCOURSE
from encoders.training.export.gate import GateQuery
from encoders.training.export.vocabulary import find_used_tokens, trim_vocabulary
from encoders.training.export.writer import check_target, write_artifact
from encoders.training.matching.recipe import KIND as MATCHER
from encoders.training.recipe import Recipe, parse_recipe
from encoders.training.run_folder import CHECKPOINT, LOG, REPORT, is_run, read_log
from encoders.training.runs.parents import read_source_ancestry
from mappings.errors import InvalidInput, NotFound

READING_TOKENS = {"bi-encoder": 256, "poly-encoder": 256, "cross-encoder": 512, "stance-classifier": 512}
"""What a model reads when it serves. Training uses less, because of its cost; positions beyond are those of the base."""
PAIRS_PER_TASK = 200
LEAST_IN_GATE = 48
"""So many texts, and judged queries, if there are as many, however long they are."""
CHECKPOINT_TEXTS = 128
"""How many (query, passage) texts the gate compares for a plain checkpoint."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Decisions made at export: tokens read of a passage (0: by kind) and of a query (0: as in training).

    `seen` is the minimum of occurrences, in the texts of the pairs, for a token to be kept; 0 keeps the whole vocabulary.
    """

    read: int = 0
    seen: int = 0
    read_query: int = 0


def export_model(
    source: str,
    pairs: Path,
    out: Path,
    kind: Kind | None = None,
    card: Path | None = None,
    serving: Serving = Serving(),
) -> Artifact:
    """Export `source` to the model directory `out`: the folder of a run, or a checkpoint (folder, name or `minilm`).

    A checkpoint needs its `kind` and takes a `card`, a JSON file that describes the model; `serving` is for runs only.
    Raises `InvalidInput` for arguments that do not fit the source or an `out` that is not a model directory, `NotFound`
    for an unfinished run, and `ModelError` if the gate fails.
    """
    if is_run(Path(source)):
        if kind or card:
            raise InvalidInput(f"{source} is a run, which has its own kind and card", field="kind" if kind else "card")
        return export_run(Path(source), pairs, out, serving=serving)
    if serving != Serving():
        raise InvalidInput(
            f"{source} is not a run: --read, --read-query and --seen apply to runs only",
            field=next(name for name, value in asdict(serving).items() if value),
        )
    if kind is None:
        raise InvalidInput(
            f"{source} is not a run of `medley train`: name the kind of the checkpoint with --kind", field="kind"
        )
    described = {"name": out.name} | describe_base(source) | (_read_card(card) if card else {})
    ancestry = read_source_ancestry(source)
    artifact = write_artifact(resolve_base(source), kind, out, described, _checkpoint_texts(pairs))
    ancestry.write(out, artifact.fingerprint)
    return artifact


_NOT_EXPORTED: Final = {
    MATCHER: "a matching network is there to be compared with (`medley evaluate medquad --systems`), and is not served",
    DISCOURSE: "training has written the model already, into the folder `model` of the run",
}


def export_run(
    run: Path, data: Path, out: Path, texts: int = 192, queries: int = 192, serving: Serving = Serving()
) -> Artifact:
    """Export `run/checkpoint` to `out`; of the held-out pairs in `data` the gate gets `texts` and judged `queries`.

    Of a model that reads longer passages than others of its kind it gets as many fewer: it reads as many tokens.
    Raises `NotFound` for an unfinished run, `InvalidInput` if `out` is not a model directory or the run is of a kind that
    is not exported, and `ModelError` if the gate fails.
    """
    check_target(out, run)
    report = _read_report(run)
    if reason := _NOT_EXPORTED.get(report["recipe"].get("kind")):
        raise InvalidInput(f"{run} is not exported: {reason}", field="checkpoint")
    recipe = parse_recipe(report["recipe"], out.name)
    own = recipe.kind == "stance-classifier"
    pairs = _interleave(load_pairs(data, recipe, "held-out").values(), alone=own)
    ready = load_checkpoint(run / CHECKPOINT, cast(Kind, recipe.kind))
    if serving.seen:
        ready = _trim(ready, _all_texts(data, recipe), serving.seen)
    ancestry = read_ancestry(run / CHECKPOINT)
    reading = make_reading(recipe, ready.model.config, serving)
    texts, queries = (fit_gate(number, recipe.kind, reading.passage_tokens) for number in (texts, queries))
    artifact = write_artifact(
        ready,
        cast(Kind, recipe.kind),
        out,
        {"name": out.name, **make_card(report, recipe, run), "export": asdict(serving)},
        _run_texts(pairs[: texts // 2], recipe),
        reading,
        [] if own else [make_gate_query(pair, recipe.windows) for pair in pairs[:queries]],
    )
    ancestry.write(out, artifact.fingerprint)
    return artifact


def fit_gate(number: int, kind: str, tokens: int) -> int:
    """How many of `number` texts, or judged queries, the gate gets for a model of `kind` that reads passages of `tokens`."""
    share = min(1.0, READING_TOKENS[kind] / tokens)
    return min(number, max(LEAST_IN_GATE, round(share * number)))


def make_reading(recipe: Recipe, config: Any, serving: Serving = Serving()) -> Reading:
    """How a model of the recipe reads texts when it serves. Raises `InvalidInput` for lengths beyond the base's positions."""
    limit = max_positions(config) or max(READING_TOKENS.values())
    for name in ("read", "read_query"):
        if (length := getattr(serving, name)) > limit:
            raise InvalidInput(f"{name} is {length}; the base has positions for {limit} tokens", field=name)
    longest = serving.read or max(recipe.max_length, min(READING_TOKENS[recipe.kind], limit))
    query = serving.read_query or recipe.max_query
    if recipe.kind in READ_TOGETHER and query >= longest:
        raise InvalidInput(f"read_query is {query}, and both texts together have {longest} tokens", field="read_query")
    return Architecture.from_recipe(recipe).reading(config, query, longest)


def make_card(report: Mapping[str, Any], recipe: Recipe, run: Path) -> dict[str, Any]:
    """The card of a run's model: base, licence, recipe, data with counts, held-out scores, and the run's log."""
    return {
        **report.get("base", {"base": recipe.base, "licence": "that of the base"}),
        "recipe": report["recipe"],
        "data": {"training_pairs": report["pairs"], **report.get("data", {})},
        "held_out": report["held_out"],
        "log": [{name: entry[name] for name in entry if name != "time"} for entry in _read_log(run) if "step" in entry],
        **report.get("notes", {}),
    }


def make_gate_query(pair: Pair, windows: str = "separate") -> GateQuery:
    """A held-out pair as a judged query: its positive against its mined candidates."""
    around = windows == "surroundings"
    passages = (pair.positive, *pair.negatives)
    gains = (1.0,) + (0.0,) * len(pair.negatives)
    return GateQuery(pair.query, tuple(render_text(text, True, around) for text in passages), gains)


def _run_texts(pairs: Sequence[Pair], recipe: Recipe) -> list[tuple[str, str]]:
    """Two texts of each pair, as far as it has them: its positive and its first negative."""
    around = recipe.windows == "surroundings"
    shown = ((pair.query, text) for pair in pairs for text in (pair.positive, *pair.negatives[:1]))
    return [(query, render_text(text, True, around)) for query, text in shown]


def _checkpoint_texts(folder: Path) -> list[tuple[str, str]]:
    """Held-out (query, passage) texts from every task in turn, positives and negatives."""

    def read_texts(file: Path) -> Iterator[tuple[str, str]]:
        for pair in read_pairs(file):
            if pair.split == "held-out":
                yield from ((pair.query, f"{text.title}. {text.text}") for text in (pair.positive, *pair.negatives[:1]))

    found = sorted(folder.rglob("*.jsonl"))
    files = (file for file in found if file.parent.name != "corpora" and file.name != NEIGHBOURS)
    rows = zip_longest(*map(read_texts, files))
    return list(islice((text for text in chain.from_iterable(rows) if text), CHECKPOINT_TEXTS))


def _interleave(tasks: Iterable[Sequence[Pair]], alone: bool = False) -> list[Pair]:
    """The pairs that have negatives, one from each task in turn; with `alone` those without, too."""
    usable = ((pair for pair in found if alone or pair.negatives) for found in tasks)
    rows = zip_longest(*(islice(pairs, PAIRS_PER_TASK) for pairs in usable))
    return [pair for pair in chain.from_iterable(rows) if pair]


def _trim(ready: Checkpoint, texts: Iterable[str], seen: int) -> Checkpoint:
    """The model without the tokens that occur less than `seen` times in `texts`."""
    kept = find_used_tokens(ready.tokenizer, texts, seen)
    model, tokenizer = trim_vocabulary(ready.model, ready.tokenizer, kept)
    return replace(ready, model=model, tokenizer=tokenizer)


def _all_texts(data: Path, recipe: Recipe) -> Iterator[str]:
    """Every pair's query, and every passage once."""
    known: set[str] = set()
    for pair in chain.from_iterable(read_pairs(data / f"{task}.jsonl") for task in recipe.tasks):
        fresh = [text for text in (pair.positive, *pair.negatives) if text.id not in known]
        known.update(text.id for text in fresh)
        yield from (pair.query, *(render_text(text, True) for text in fresh))


def _read_report(run: Path) -> dict[str, Any]:
    """The report of a finished run."""
    path = run / REPORT
    if not path.is_file():
        raise NotFound(f"{path} is missing: the run has not finished; `medley train` resumes it", field="run")
    found = _read_object(path, "run")
    if missing := [name for name in ("recipe", "pairs", "held_out") if not isinstance(found.get(name), dict)]:
        raise InvalidInput(f"{path} has no {missing[0]}: `medley train` did not write it", field="run")
    return found


def _read_log(run: Path) -> list[dict[str, Any]]:
    """The entries of the run's log."""
    path = run / LOG
    if not path.is_file():
        raise NotFound(f"{path} is missing: the card shows the loss from the run's log", field="run")
    return read_log(path)


def _read_card(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist: --card names a JSON file", field="card")
    return _read_object(path, "card")


def _read_object(path: Path, field: str) -> dict[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"{path} is not valid JSON ({error})", field=field) from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} must contain a JSON object", field=field)
    return found
