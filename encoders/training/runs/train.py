"""`train`: pairs and a recipe in, a checkpoint with its log, its record and its held-out scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import torch
from transformers.utils import logging

from encoders.labels.guard import check_pairs_file
from encoders.labels.pairs import Pair
from encoders.training.architectures.architecture import Architecture, towers
from encoders.training.architectures.checkpoint import Checkpoint, save
from encoders.training.architectures.families import backbone
from encoders.training.architectures.scoring import freeze, mix
from encoders.training.data.batches import Example, load_pairs, needed, plan, used
from encoders.training.data.frozen_scores import artifact
from encoders.training.data.prior import first_stage
from encoders.training.data.teacher import teach
from encoders.training.loop.attention import quick
from encoders.training.loop.held_out import held_out
from encoders.training.loop.optimise import Log, Run, entries, log_to, optimise
from encoders.training.loop.precision import fastest
from encoders.training.loop.state import begun_in, check, identity
from encoders.training.recipe import Recipe, load_recipe
from encoders.training.runs.initial import is_artifact, load, origin
from encoders.training.runs.plot import loss_plot
from encoders.training.runs.record import Record, hashes
from mappings.errors import InvalidInput, MedleyError


@dataclass(frozen=True, slots=True)
class _Begin:
    """What a run starts with, read and checked before anything of its folder is touched."""

    recipe: Recipe
    ready: Checkpoint
    dev: Mapping[str, Sequence[Pair]]
    batches: Sequence[Sequence[Example]]
    trainable: int


def train(
    recipe: Path | str | Recipe,
    data: Path,
    out: Path,
    queries: int = 40,
    evaluated: Path | None = None,
    watch: Log | None = None,
) -> dict[str, Any]:
    """Train by `recipe` on the pairs in `data` and write a Hugging Face checkpoint to `out/checkpoint`.

    `out` also gets `log.jsonl`, `loss.svg`, `record.json`, `report.json` (what is returned) and `state.pt`, from which
    the same command goes on after a kill. At most `queries` held-out pairs a task score the base and the result.
    `evaluated` is the folder of the evaluation's data sets: pairs that hold any of it are refused. `watch` is shown
    every entry of the log. Raises `InvalidInput`, `NotFound` and `ModelError` for a wrong recipe, pair file or base,
    `Conflict` for a run that was begun otherwise or whose state is gone; what is refused changes nothing in `out`.
    """
    chosen = load_recipe(recipe) if not isinstance(recipe, Recipe) else recipe
    _quiet()
    device = device_of(chosen)
    if chosen.precision == "auto":
        chosen = replace(chosen, precision=begun_in(out) or fastest(device, chosen.threads))
    if evaluated is not None:
        _refuse_evaluated(chosen, data, evaluated)
    hashed = hashes(data, chosen)
    whose = identity(chosen, _inputs(chosen, hashed))
    check(out, whose)
    begin = _begin(chosen, data, device)
    _make(out)
    record = Record(out, chosen, hashed, device)
    record.write("running")
    try:
        report = _trained(begin, whose, _origin(data), out, queries, log_to(out / "log.jsonl", watch))
        _plot(chosen.name, out)
        record.write("finished", {name: report[name] for name in ("pairs", "steps", "best_step", "held_out")})
    except BaseException as error:  # an interrupted run is not running either
        record.write("failed", {"cause": error.message if isinstance(error, MedleyError) else repr(error)})
        with suppress(OSError):  # a full disk must not hide why the run failed
            _plot(chosen.name, out)
        raise
    return report


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{out} can't be made a folder: {error.strerror}", field="OUT") from None


def _begin(recipe: Recipe, data: Path, device: str) -> _Begin:
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    pairs, dev = load_pairs(data, recipe, "train"), load_pairs(data, recipe, "held-out")
    if recipe.evaluate_every and not any(dev.values()):
        raise InvalidInput("evaluate_every needs held-out pairs, and the files have none", field="evaluate_every")
    batches = plan(pairs, recipe)
    if missing := recipe.tasks.keys() - used(batches):
        task = min(missing)
        raise InvalidInput(_unused(task, pairs[task], recipe), field=task)
    for what, name, kind in (("teacher", recipe.teacher, "cross-encoder"), ("prior", recipe.prior, "bi-encoder")):
        if name:
            artifact(name, kind, what)  # opened when it is asked; a wrong name is told now
    ready = load(recipe)
    ready.model.to(device)
    return _Begin(recipe, ready, dev, batches, freeze(ready.model, recipe.frozen))


def _trained(
    begin: _Begin, whose: Mapping[str, Any], counted: Mapping[str, Any], out: Path, queries: int, log: Log
) -> dict[str, Any]:
    """The report of a run from its begin to its end; `counted` is what labelling says of the pairs."""
    recipe, ready, model = begin.recipe, begin.ready, begin.ready.model
    shown = begin.batches[: recipe.steps or None]
    counts = used(shown)
    log({"recipe": recipe.as_json(), "pairs": counts, "batches": len(begin.batches), "trainable": begin.trainable})
    teacher, prior = teach(recipe, shown, out, log), first_stage(recipe, shown, out, log)
    run = Run(model, ready.tokenizer, recipe, out, log, whose, begin.dev, teacher, prior)
    with quick(map(backbone, towers(model).values()), model.device.type == "cpu" and recipe.precision == "bf16"):
        progress = optimise(run, begin.batches)
    report = {
        "recipe": recipe.as_json(), "base": origin(recipe.base), "pairs": counts, "data": dict(counted),
        "steps": progress.step, "best_step": progress.best_step or progress.step,
    }  # fmt: skip
    return finish(ready, recipe, begin.dev, out, report, queries)


def finish(
    ready: Checkpoint,
    recipe: Recipe,
    pairs: Mapping[str, Sequence[Pair]],
    out: Path,
    report: dict[str, Any],
    queries: int,
) -> dict[str, Any]:
    """Mix with the base as the recipe says, save, and score base and result on the held-out `pairs`.

    A base without a head ranks as a bi-encoder also beside a cross-encoder.
    """
    headless = recipe.kind == "cross-encoder" and recipe.head == "cls" and not is_artifact(recipe.base)
    plain = _as_bi_encoder(recipe) if headless else recipe
    if recipe.soup < 1:
        mix(ready.model, load(recipe).model, recipe.soup)
    save(ready.model, ready.tokenizer, out / "checkpoint", Architecture.of(recipe))
    base = load(plain)
    base.model.to(ready.model.device)
    scores = {
        "base": held_out(base.model, base.tokenizer, pairs, plain, queries),
        "trained": held_out(ready.model, ready.tokenizer, pairs, recipe, queries),
    }
    whole = {**report, "held_out": scores}
    (out / "report.json").write_bytes(orjson.dumps(whole, option=orjson.OPT_INDENT_2))
    return whole


def device_of(recipe: Recipe) -> str:
    """Where the recipe's run computes: a GPU where there is one. Raises `InvalidInput` for one that is not there."""
    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput(
            "device is 'cuda', but torch finds no GPU; 'auto' takes one where there is one", field="device"
        )
    return "cuda" if recipe.device != "cpu" and torch.cuda.is_available() else "cpu"


def _unused(task: str, pairs: Sequence[Pair], recipe: Recipe) -> str:
    """Why no step of the run shows a pair of this task."""
    enough = sum(len(pair.negatives) >= needed(recipe) for pair in pairs)
    return (
        f"{task}.jsonl has {len(pairs)} training pairs, {enough} of them with {needed(recipe)} negatives or more: "
        f"they do not fill one batch of {recipe.batch}; mine more, or leave the task out of the recipe"
    )


def _inputs(recipe: Recipe, hashed: Mapping[str, str]) -> dict[str, str]:
    """What the weights depend on beside the settings; a model directory's name may come to mean another model."""
    models = {"base": recipe.base, "teacher": recipe.teacher, "prior": recipe.prior}
    return {**hashed, **{what: origin(name)["base"] for what, name in models.items() if name}}


def _quiet() -> None:
    """No bars and no reports of new heads from the loader: what is new in a model is what its recipe says."""
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def _as_bi_encoder(recipe: Recipe) -> Recipe:
    return replace(recipe, kind="bi-encoder", objective="contrastive", teacher="", distillation="none", prior="")


def _refuse_evaluated(recipe: Recipe, data: Path, evaluated: Path) -> None:
    """Raise `InvalidInput` where a file of pairs holds evaluation data."""
    for task in recipe.tasks:
        if (file := data / f"{task}.jsonl").is_file():
            check_pairs_file(file, evaluated)


def _plot(name: str, out: Path) -> None:
    path = out / "log.jsonl"
    if path.is_file():
        (out / "loss.svg").write_text(loss_plot(name, entries(path)), encoding="utf-8")


def _origin(data: Path) -> dict[str, Any]:
    """What labelling counted and dropped, where it stands beside the pairs."""
    path = data / "counts.json"
    return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}
