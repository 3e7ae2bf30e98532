"""A torch model with its tokenizer, in memory or from a Hugging Face folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from encoders.artifact import Kind
from mappings.errors import ModelError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a training run ends with, or `load` reads from a folder."""

    model: Any
    tokenizer: Any


def load(path: str | Path, kind: Kind) -> Checkpoint:
    """Read a Hugging Face checkpoint by folder or name. Raises `ModelError` for one that can't be read."""
    base = AutoModel if kind == "bi-encoder" else AutoModelForSequenceClassification
    try:
        model = base.from_pretrained(path, attn_implementation="eager", dtype=torch.float32)
        return Checkpoint(model, AutoTokenizer.from_pretrained(path, use_fast=True))
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"{path} is no Hugging Face checkpoint that can be read: {error}", field="checkpoint"
        ) from error
