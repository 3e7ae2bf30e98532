"""Train a model: pairs and a recipe in; a checkpoint, its log, its record and its held-out scores out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import torch

from encoders.ancestry.record import Ancestry
from encoders.ancestry.seen import SeenTexts
from encoders.labels.augment import NEIGHBOURS
from encoders.labels.pairs import Pair
from encoders.training.architectures.architecture import Architecture, get_head, get_towers
from encoders.training.architectures.bases import describe_base, is_artifact
from encoders.training.architectures.checkpoint import Checkpoint, save_checkpoint
from encoders.training.architectures.families import backbone
from encoders.training.architectures.weights import freeze, mix
from encoders.training.data.batches import Example, count_pairs, load_neighbours, load_pairs, plan_batches
from encoders.training.data.checkpoint_teachers import fingerprint_checkpoint, is_run_checkpoint
from encoders.training.data.frozen_models import PRIOR, teacher_role
from encoders.training.loop.attention import use_plain_attention
from encoders.training.loop.gradients import cached_gradients, split_gradients
from encoders.training.loop.held_out import evaluate_held_out, main_measure
from encoders.training.loop.optimise import LoopContext, Progress, optimise
from encoders.training.loop.precision import choose_device, choose_precision
from encoders.training.loop.processes import Processes, join_processes
from encoders.training.loop.state import check_state, make_identity, saved_precision
from encoders.training.objectives.anchor import Anchor
from encoders.training.objectives.losses import Objective
from encoders.training.recipe import CANDIDATES, SINGLES, Recipe, load_recipe
from encoders.training.run_folder import CHECKPOINT, REPORT, Log
from encoders.training.runs.initial import load_initial, silence_loaders
from encoders.training.runs.parents import find_parents, make_ancestry
from encoders.training.runs.record import RunRecord, hash_pairs
from encoders.training.runs.recorded import (
    explain_unused,
    make_folder,
    read_label_counts,
    refuse_evaluated,
    run_recorded,
)
from mappings.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a run starts with, loaded and checked before anything in its folder changes.

    `label_counts` is what labelling counted and dropped; at most `queries` held-out pairs per task score the result;
    `ancestry` is that of the result.
    """

    recipe: Recipe
    ready: Checkpoint
    dev: Mapping[str, Sequence[Pair]]
    batches: Sequence[Sequence[Example]]
    trainable: int
    identity: Mapping[str, Any]
    label_counts: Mapping[str, Any]
    queries: int
    ancestry: Ancestry


def train(
    recipe: Path | str | Recipe,
    data: Path,
    out: Path,
    queries: int = 40,
    evaluated: Path | None = None,
    watch: Log | None = None,
    unknown_ancestry: bool = False,
) -> dict[str, Any]:
    """Train by `recipe` on the pairs in `data` and write a Hugging Face checkpoint to `out/checkpoint`.

    `out` also gets `log.jsonl`, `loss.svg`, `record.json`, `report.json` (the return value) and `state.pt`, from which the
    same command resumes after a kill. At most `queries` held-out pairs per task score the base and the result.
    `evaluated` is the folder of the evaluation data sets: pairs that contain any of it are refused. `watch` receives every
    entry of the log. The models that the recipe starts from must have a recorded ancestry, without evaluation data, unless
    `unknown_ancestry`. Started by torchrun, the processes share each batch, and all return the report. Raises `InvalidInput`,
    `NotFound` and `ModelError` for an invalid recipe, pair file or base, and `Conflict` for a run that was started differently
    or whose state is missing; a refused run changes nothing in `out`.
    """
    chosen = load_recipe(recipe) if not isinstance(recipe, Recipe) else recipe
    silence_loaders()
    device = choose_device(chosen)
    with join_processes(device, chosen.batch) as processes:
        if chosen.precision == "auto":
            found = processes.first(lambda: saved_precision(out) or choose_precision(device, chosen.threads))
            chosen = replace(chosen, precision=found)
        if evaluated is not None:
            refuse_evaluated(chosen, data, evaluated)
        hashes = hash_pairs(data, chosen, (NEIGHBOURS,) if chosen.variants else ())
        identity = make_identity(chosen, _describe_inputs(chosen, hashes))
        check_state(out, identity)
        for frozen in (teacher_role(chosen), PRIOR):
            frozen.open_artifact(chosen)  # reports a wrong name before the run starts
        parents = find_parents(chosen, evaluated, unknown_ancestry)
        describe = partial(make_ancestry, parents, chosen, hashes, checked=evaluated is not None)
        setup = _prepare(chosen, data, device, identity, queries, describe)
        processes.check_same("recipe or data", identity)
        make_folder(out)
        if not processes.is_first:
            return _run(setup, processes, out, lambda entry: None)
        return run_recorded(RunRecord.start(chosen, hashes, device), out, watch, partial(_run, setup, processes, out))


def _prepare(
    recipe: Recipe,
    data: Path,
    device: str,
    identity: Mapping[str, Any],
    queries: int,
    describe: Callable[[SeenTexts], Ancestry],
) -> _Setup:
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.seed)
    pairs, dev = load_pairs(data, recipe, "train"), load_pairs(data, recipe, "held-out")
    if recipe.evaluate_every and not any(dev.values()):
        raise InvalidInput("evaluate_every needs held-out pairs, and the files have none", field="evaluate_every")
    batches = plan_batches(pairs, recipe, load_neighbours(data, recipe))
    if missing := recipe.tasks.keys() - count_pairs(batches):
        task = min(missing)
        raise InvalidInput(explain_unused(task, pairs[task], recipe), field=task)
    ready = load_initial(recipe)
    ready.model.to(device)
    trainable = freeze(ready.model, recipe.frozen)
    seen = SeenTexts.of_pairs(chain.from_iterable((*pairs.values(), *dev.values())))
    label_counts = read_label_counts(data)
    return _Setup(recipe, ready, dev, batches, trainable, identity, label_counts, queries, describe(seen))


def _run(setup: _Setup, processes: Processes, out: Path, log: Log) -> dict[str, Any]:
    """Train, save and evaluate; returns the report of the run."""
    recipe, ready, model = setup.recipe, setup.ready, setup.ready.model
    shown = setup.batches[: recipe.steps or None]
    several = {"processes": processes.count} if processes.count > 1 else {}
    begins = {"recipe": recipe.as_json(), "pairs": count_pairs(shown), "batches": len(setup.batches)}
    log({**begins, "trainable": setup.trainable, **several})
    with processes.one_then_all():
        teacher, prior = (role.score(recipe, shown, out, log) for role in (teacher_role(recipe), PRIOR))
    objective = Objective(model, ready.tokenizer, recipe, teacher, prior, Anchor.load(recipe, model.device))
    context = LoopContext(
        model,
        recipe,
        out,
        log,
        setup.identity,
        objective.loss,
        partial(_evaluate_states, setup),
        get_head(model),
        recipe.head_rate,
        processes,
        choose_gradients(objective, processes),
    )
    plain = model.device.type == "cpu" and recipe.precision == "bf16"
    with use_plain_attention(map(backbone, get_towers(model).values()), plain):
        progress = optimise(context, setup.batches)
    return processes.first(partial(_finish, setup, progress, begins["pairs"], out))


def choose_gradients(objective: Objective, processes: Processes) -> Callable[[Sequence[Example]], float] | None:
    """How the gradients of a batch are computed in parts; None for a batch that is computed at once."""
    recipe = objective.recipe
    if processes.count == 1 and not recipe.chunk:
        return None
    if recipe.objective in (*CANDIDATES, *SINGLES):
        texts = 1 if recipe.objective in SINGLES else 1 + recipe.negatives
        examples = recipe.chunk and max(1, recipe.chunk // texts)
        return lambda batch: split_gradients(objective.loss, batch, examples, processes)
    return lambda batch: cached_gradients(objective, batch, recipe.chunk, processes)


def _finish(setup: _Setup, progress: Progress, pairs: Mapping[str, int], out: Path) -> dict[str, Any]:
    """Save the checkpoint and evaluate it; returns the report of the run."""
    recipe, ready = setup.recipe, setup.ready
    if recipe.soup < 1:
        mix(ready.model, load_initial(recipe).model, recipe.soup)
    save_checkpoint(ready.model, ready.tokenizer, out / CHECKPOINT, Architecture.from_recipe(recipe))
    setup.ancestry.write(out / CHECKPOINT)
    report = {
        "recipe": recipe.as_json(), "base": describe_base(recipe.base), "pairs": dict(pairs),
        "data": dict(setup.label_counts), "steps": progress.step, "best_step": progress.best_step or progress.step,
        "held_out": _evaluate(setup),
    }  # fmt: skip
    (out / REPORT).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


def _evaluate_states(setup: _Setup) -> tuple[Mapping[str, Any], float]:
    """The development pairs ranked by the model as it is, and the mean by which its states are compared."""
    recipe, ready = setup.recipe, setup.ready
    table = evaluate_held_out(ready.model, ready.tokenizer, setup.dev, recipe, recipe.dev_queries)
    return table, table["mean"][main_measure(recipe)]


def _evaluate(setup: _Setup) -> dict[str, Any]:
    """The held-out scores of the base and of the trained model.

    A base without a head ranks as a bi-encoder, even if the trained model is a cross-encoder.
    """
    recipe, ready = setup.recipe, setup.ready
    is_headless = recipe.kind == "cross-encoder" and recipe.head == "cls" and not is_artifact(recipe.base)
    base_recipe = _as_bi_encoder(recipe) if is_headless else recipe
    base = load_initial(base_recipe)
    base.model.to(ready.model.device)
    return {
        "base": evaluate_held_out(base.model, base.tokenizer, setup.dev, base_recipe, setup.queries),
        "trained": evaluate_held_out(ready.model, ready.tokenizer, setup.dev, recipe, setup.queries),
    }


def _describe_inputs(recipe: Recipe, hashes: Mapping[str, str]) -> dict[str, str]:
    """What the weights depend on besides the settings; a model directory's name can come to mean another model."""
    models = {"base": recipe.base, "teacher": recipe.teacher, "prior": recipe.prior}
    return {**hashes, **{role: _describe_model(name) for role, name in models.items() if name}}


def _describe_model(name: str) -> str:
    is_run = is_run_checkpoint(name)
    return f"{name} {fingerprint_checkpoint(Path(name))}" if is_run else describe_base(name)["base"]


def _as_bi_encoder(recipe: Recipe) -> Recipe:
    """The recipe by which a base without a head ranks: nothing that only a cross-encoder's training has."""
    plain = {"teacher": "", "distillation": "none", "prior": "", "variants": 0}
    return replace(recipe, kind="bi-encoder", objective="contrastive", **plain)
