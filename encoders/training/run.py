"""`train`: pairs and a recipe in, a checkpoint with its log and its held-out scores out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import torch

from encoders.training.data import load_pairs, plan
from encoders.training.evaluate import held_out
from encoders.training.loop import log_to, optimise
from encoders.training.models import freeze, is_artifact, load, mix, origin, save
from encoders.training.recipe import Recipe, load_recipe


def train(recipe: Path | str | Recipe, data: Path, out: Path, queries: int = 40) -> dict[str, Any]:
    """Train by `recipe` on the pairs in `data` and write a Hugging Face checkpoint to `out/checkpoint`.

    `out` also gets `log.jsonl`, `report.json` (what is returned) and `state.pt`, from which the same command goes
    on after a kill. At most `queries` held-out pairs a task score the base and the result.
    Raises `InvalidInput`, `NotFound` and `ModelError` for a wrong recipe, pair file or base.
    """
    chosen = load_recipe(recipe) if not isinstance(recipe, Recipe) else recipe
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    out.mkdir(parents=True, exist_ok=True)
    log = log_to(out / "log.jsonl")
    pairs = load_pairs(data, chosen, "train")
    batches = plan(pairs, chosen)
    model, tokenizer = load(chosen.base, chosen.kind, chosen.dropout)
    trainable = freeze(model, chosen.frozen)
    counts = {task: len(found) for task, found in pairs.items()}
    log({"recipe": chosen.as_json(), "pairs": counts, "batches": len(batches), "trainable": trainable})
    optimise(model, tokenizer, batches, chosen, out, log)
    report = {"recipe": chosen.as_json(), "base": origin(chosen.base), "pairs": counts, "data": _origin(data)}
    return finish(model, tokenizer, chosen, data, out, report, queries)


def finish(
    model: Any, tokenizer: Any, recipe: Recipe, data: Path, out: Path, report: dict[str, Any], queries: int
) -> dict[str, Any]:
    """Mix with the base as the recipe says, save, and score base and result on the held-out pairs.

    A base without a head ranks as a bi-encoder also beside a cross-encoder.
    """
    headless = recipe.kind == "cross-encoder" and not is_artifact(recipe.base)
    plain = replace(recipe, kind="bi-encoder", objective="contrastive") if headless else recipe
    if recipe.soup < 1:
        mix(model, load(recipe.base, recipe.kind)[0], recipe.soup)
    save(model, tokenizer, out / "checkpoint")
    pairs = load_pairs(data, recipe, "held-out")
    scores = {
        "base": held_out(load(recipe.base, plain.kind)[0], tokenizer, pairs, plain, queries),
        "trained": held_out(model, tokenizer, pairs, recipe, queries),
    }
    whole = {**report, "held_out": scores}
    (out / "report.json").write_bytes(orjson.dumps(whole, option=orjson.OPT_INDENT_2))
    return whole


def _origin(data: Path) -> dict[str, Any]:
    """What labelling counted and dropped, where it stands beside the pairs."""
    path = data / "counts.json"
    return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}
