"""The model that a run starts from: its recipe's base, adapted to the recipe's architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers.utils import logging

from encoders.artifact import QUERIES, Artifact
from encoders.training.architectures.architecture import Architecture, get_head, get_towers
from encoders.training.architectures.bases import is_artifact, locate_checkpoint, resolve_base
from encoders.training.architectures.checkpoint import Checkpoint, build_model
from encoders.training.architectures.families import backbone, keep_layers, max_positions, reads_surroundings
from encoders.training.architectures.longformer.extend import extend
from encoders.training.architectures.markers import add_marker_tokens
from encoders.training.architectures.weights import set_dropout
from encoders.training.export.restore import read_architecture, restore
from encoders.training.recipe import Recipe
from mappings.errors import InvalidInput, ModelError


def silence_loaders() -> None:
    """Switch off the loaders' progress bars and reports of new heads: the recipe tells what is new in a model."""
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def load_initial(recipe: Recipe) -> Checkpoint:
    """The model that a recipe trains, before the first step.

    Raises `ModelError` if the base does not exist or does not fit, and `InvalidInput` for a length beyond its positions.
    """
    plan, base = Architecture.from_recipe(recipe), resolve_base(recipe.base)
    if is_artifact(recipe.base):
        ready = _load_artifact(Artifact.open(Path(base)), plan, recipe.base)
    else:
        ready = _load_pretrained(locate_checkpoint(base, "base"), recipe.base, plan)
    for tower in get_towers(ready.model).values():
        keep_layers(tower, recipe.layers)
    if recipe.positions:
        ready = _extend(ready, plan, recipe)
    towers = list(get_towers(ready.model).values())
    for tower in towers:
        _check_lengths(tower.config, recipe)
        _check_surroundings(tower.config, recipe)
    if recipe.markers == "tokens":
        add_marker_tokens(ready.tokenizer, towers)
    set_dropout(ready.model, recipe.dropout)
    return Checkpoint(ready.model, ready.tokenizer, plan)


def _extend(ready: Checkpoint, plan: Architecture, recipe: Recipe) -> Checkpoint:
    """The model with Longformers instead of its towers."""
    towers = get_towers(ready.model)
    made = {name: extend(tower, recipe.positions, recipe.attention_window) for name, tower in towers.items()}
    model = plan.assemble(made[""], made.get(QUERIES), ready.tokenizer)
    head, known = get_head(model), get_head(ready.model)
    if head is not None and known is not None:
        head.load_state_dict(known.state_dict())
    return Checkpoint(model, ready.tokenizer, plan)


def _check_surroundings(config: Any, recipe: Recipe) -> None:
    if recipe.windows == "surroundings" and not reads_surroundings(config):
        message = (
            f"the base {recipe.base!r} belongs to the family {config.model_type!r}, which reads a passage alone; windows ="
            " 'surroundings' needs a Longformer: name one, or make one with positions"
        )
        raise ModelError(message, field="base")


def _check_lengths(config: Any, recipe: Recipe) -> None:
    limit = max_positions(config)
    for name in ("max_length", "max_query"):
        if limit and getattr(recipe, name) > limit:
            message = f"{name} is {getattr(recipe, name)}; the base has positions for {limit} tokens"
            raise InvalidInput(message, field=name)


def _load_pretrained(folder: str, base: str, plan: Architecture) -> Checkpoint:
    try:
        return build_model(folder, plan, {"dtype": torch.float32})  # a checkpoint in half precision would stay in it
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:  # truncated weights, too
        raise ModelError(f"no checkpoint could be loaded from {base!r}: {error}", field="base") from None


def _load_artifact(artifact: Artifact, plan: Architecture, base: str) -> Checkpoint:
    """A model directory's model, rebuilt as `plan` over its towers if that only needs a new head.

    An interaction head and a poly-encoder can start from any encoder's towers; the other heads must be in the model.
    """
    stored = read_architecture(artifact)
    _check_base(stored, plan, base)
    ready = restore(artifact)
    if stored == plan:
        return ready
    towers = get_towers(ready.model)
    passages, queries = towers[""], towers.get(QUERIES)
    if plan.towers == "separate" and queries is None:
        queries = backbone(get_towers(restore(artifact).model)[""])
    model = plan.assemble(passages, None if plan.towers == "shared" else queries, ready.tokenizer)
    new_head, old_head = get_head(model), get_head(ready.model)
    # The heads have the same type if only the cut or the markers have changed.
    if new_head is not None and old_head is not None and type(new_head) is type(old_head):
        new_head.load_state_dict(old_head.state_dict())
    return Checkpoint(model, ready.tokenizer, plan)


def _check_base(stored: Architecture, plan: Architecture, base: str) -> None:
    """Raise `ModelError` if a model of architecture `stored` can't start a run of architecture `plan`."""
    if plan.is_classifier:
        fits = stored.is_classifier and stored.classes == plan.classes
    else:
        fits = plan.kind != "bi-encoder" or stored.kind in ("bi-encoder", "poly-encoder")
    if fits:
        return
    if stored.kind != plan.kind:
        raise ModelError(f"the base {base!r} is a {stored.kind}, not a {plan.kind}", field="base")
    raise ModelError(
        f"the base {base!r} has the head {stored.head!r} with {stored.classes} classes; the recipe needs {plan.head!r}"
        f" with {plan.classes}",
        field="base",
    )
