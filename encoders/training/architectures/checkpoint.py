"""A torch model with its tokenizer, in memory or in a Hugging Face folder.

Where Hugging Face's classes do not say it all, the folder also holds `architecture.json`, the queries' tower in
`queries/` and what is ours in `head.safetensors`; the rest is a plain checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from encoders.artifact import QUERIES, Kind
from encoders.training.architectures.architecture import Architecture, head, towers
from encoders.training.architectures.cross_encoder import classifier
from encoders.training.architectures.families import backbone, prepare
from encoders.training.architectures.origins import located
from mappings.errors import ModelError

ARCHITECTURE = "architecture.json"
HEAD = "head.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a training run ends with, or `load` reads from a folder. No `architecture`: what the model's class says."""

    model: Any
    tokenizer: Any
    architecture: Architecture | None = None


def load(path: str | Path, kind: Kind) -> Checkpoint:
    """Read a checkpoint by folder or name, as export needs it. Raises `ModelError` for one that can't be read."""
    path = located(path, "checkpoint")
    try:
        plan = described(Path(path)) or plain(path, kind)
        if plan.kind != kind:
            raise ModelError(f"{path} is a {plan.kind}, not a {kind}", field="checkpoint")
        return build(path, plan, {"attn_implementation": "eager", "dtype": torch.float32})
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:  # cut-off weights, too
        raise ModelError(
            f"{path} is no Hugging Face checkpoint that can be read: {error}", field="checkpoint"
        ) from error


def described(folder: Path) -> Architecture | None:
    """The architecture that a folder tells, if it tells one."""
    path = folder / ARCHITECTURE
    return Architecture(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def plain(path: str | Path, kind: Kind) -> Architecture:
    """The architecture of a checkpoint that tells nothing. Raises `ModelError` for a classifier of several classes."""
    classes = AutoConfig.from_pretrained(path).num_labels if kind == "cross-encoder" else 1
    if classes > 2:
        raise ModelError(
            f"{path} has {classes} labels; a cross-encoder has one score or two classes", field="checkpoint"
        )
    return Architecture(kind, classes=classes)


def build(folder: str | Path, plan: Architecture, options: Mapping[str, Any]) -> Checkpoint:
    """A model of `plan` from the checkpoint in `folder`, with what it holds of it; the rest of its parts is new.

    `options` are for Hugging Face's loader. Raises `OSError`, `ValueError` or `KeyError` where there is no checkpoint, `ModelError` for a family unsupported or a checkpoint without a tokenizer.
    """
    tokenizer = worded(AutoTokenizer.from_pretrained(folder, use_fast=True), folder)
    passages, queries = tower(folder, plan, options), None
    if plan.towers == "separate" and plan.kind != "cross-encoder":
        apart = Path(folder) / QUERIES
        queries = backbone(tower(apart if apart.is_dir() else folder, plan, options))
    model = plan.assemble(passages, queries, tokenizer)
    had = described(Path(folder))
    if (part := head(model)) is not None and had is not None and (had.kind, had.head) == (plan.kind, plan.head):
        part.load_state_dict(load_file(Path(folder) / HEAD))
    return Checkpoint(model, tokenizer, plan)


def worded(tokenizer: Any, folder: str | Path) -> Any:
    """The tokenizer. Raises `ModelError` for one that knows no word: Hugging Face makes such a one where files are missing."""
    if set(tokenizer.get_vocab()) <= {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}:
        files = " or ".join(sorted(set(type(tokenizer).vocab_files_names.values())))
        raise ModelError(
            f"{folder} has no tokenizer, so that every word would be unknown: {files} is missing", field="checkpoint"
        )
    return tokenizer


def tower(folder: str | Path, plan: Architecture, options: Mapping[str, Any]) -> Any:
    """One Hugging Face model of a checkpoint; a classifier without a fitting head gets a new one."""
    config = prepare(AutoConfig.from_pretrained(folder), str(folder))
    if not plan.classifies:
        return AutoModel.from_pretrained(folder, config=config, **options)
    config.num_labels = plan.classes
    made = classifier(config.model_type)
    return made.from_pretrained(folder, config=config, ignore_mismatched_sizes=True, **options)


def save(model: Any, tokenizer: Any, folder: Path, plan: Architecture | None = None) -> None:
    """Write a checkpoint: a plain Hugging Face one, with what is ours beside it."""
    for name, part in towers(model).items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        part.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    if (part := head(model)) is not None:
        save_file({name: value.contiguous() for name, value in part.state_dict().items()}, folder / HEAD)
    if plan is not None:
        (folder / ARCHITECTURE).write_text(json.dumps(plan.as_json(), indent=2) + "\n", encoding="utf-8")
