"""A torch model with its tokenizer, in memory or as a Hugging Face checkpoint folder.

If Hugging Face's classes do not cover the model, the folder also has `architecture.json`, the query tower in `queries/`
and our head's weights in `head.safetensors`; everything else is a plain checkpoint.
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
from encoders.training.architectures.architecture import Architecture, get_head, get_towers
from encoders.training.architectures.bases import locate_checkpoint
from encoders.training.architectures.cross_encoder import classifier_class, score_in_float32
from encoders.training.architectures.families import backbone, prepare_config, reads_surroundings
from encoders.training.architectures.longformer.model import PassageLongformer
from mappings.errors import ModelError

ARCHITECTURE = "architecture.json"
HEAD = "head.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The result of a training run, or of `load_checkpoint`. Without `architecture` the model's class decides."""

    model: Any
    tokenizer: Any
    architecture: Architecture | None = None


def load_checkpoint(path: str | Path, kind: Kind) -> Checkpoint:
    """Load a checkpoint by folder or name for export. Raises `ModelError` if it can't be read."""
    path = locate_checkpoint(path, "checkpoint")
    try:
        plan = _read_architecture(Path(path)) or _plain_architecture(path, kind)
        if plan.kind != kind:
            raise ModelError(f"{path} is a {plan.kind}, not a {kind}", field="checkpoint")
        return build_model(path, plan, {"attn_implementation": "eager", "dtype": torch.float32})
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:  # truncated weights, too
        raise ModelError(f"{path} is not a readable Hugging Face checkpoint: {error}", field="checkpoint") from error


def _read_architecture(folder: Path) -> Architecture | None:
    """The architecture described in a folder, if there is one."""
    path = folder / ARCHITECTURE
    return Architecture(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _plain_architecture(path: str | Path, kind: Kind) -> Architecture:
    """The architecture of a plain checkpoint. Raises `ModelError` for a classifier with more than two classes."""
    classes = AutoConfig.from_pretrained(path).num_labels if kind == "cross-encoder" else 1
    if classes > 2:
        raise ModelError(
            f"{path} has {classes} labels; a cross-encoder has one score or two classes", field="checkpoint"
        )
    return Architecture(kind, classes=classes)


def build_model(folder: str | Path, plan: Architecture, options: Mapping[str, Any]) -> Checkpoint:
    """Build a model of architecture `plan` with the weights of the checkpoint in `folder`; parts it lacks are new.

    `options` go to Hugging Face's loader. Raises `OSError`, `ValueError` or `KeyError` if there is no checkpoint, and
    `ModelError` for an unsupported family or a checkpoint without a tokenizer.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True)
    _check_vocabulary(tokenizer, folder)
    passages, queries = _load_tower(folder, plan, options), None
    if plan.towers == "separate" and plan.kind != "cross-encoder":
        separate = Path(folder) / QUERIES
        queries = backbone(_load_tower(separate if separate.is_dir() else folder, plan, options))
    model = plan.assemble(passages, queries, tokenizer)
    stored = _read_architecture(Path(folder))
    head = get_head(model)
    if head is not None and stored is not None and (stored.kind, stored.head) == (plan.kind, plan.head):
        head.load_state_dict(load_file(Path(folder) / HEAD))
    return Checkpoint(model, tokenizer, plan)


def _check_vocabulary(tokenizer: Any, folder: str | Path) -> None:
    """Raise `ModelError` for a tokenizer without words, which Hugging Face makes if files are missing."""
    if set(tokenizer.get_vocab()) <= {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}:
        files = " or ".join(sorted(set(type(tokenizer).vocab_files_names.values())))
        raise ModelError(
            f"{folder} has no tokenizer, so every word would be unknown: {files} is missing", field="checkpoint"
        )


def _load_tower(folder: str | Path, plan: Architecture, options: Mapping[str, Any]) -> Any:
    """One Hugging Face model of a checkpoint; a classifier without a head that fits gets a new one."""
    config = prepare_config(AutoConfig.from_pretrained(folder), str(folder))
    if reads_surroundings(config):
        return PassageLongformer.from_pretrained(folder, config=config, **options)
    if not plan.is_classifier:
        return AutoModel.from_pretrained(folder, config=config, **options)
    config.num_labels = plan.classes
    model = classifier_class(config.model_type).from_pretrained(
        folder, config=config, ignore_mismatched_sizes=True, **options
    )
    return score_in_float32(model)


def save_checkpoint(model: Any, tokenizer: Any, folder: Path, plan: Architecture | None = None) -> None:
    """Write a Hugging Face checkpoint, and beside it our head and, if given, the architecture."""
    for name, part in get_towers(model).items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        part.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    if (head := get_head(model)) is not None:
        save_file({name: value.contiguous() for name, value in head.state_dict().items()}, folder / HEAD)
    if plan is not None:
        (folder / ARCHITECTURE).write_text(json.dumps(plan.as_json(), indent=2) + "\n", encoding="utf-8")
