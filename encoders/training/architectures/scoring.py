"""Running a model on texts, in torch: vectors, similarities and logits, as training and its evaluation need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.text import cut_middle
from encoders.training.architectures.cross_encoder import logit
from encoders.training.architectures.families import inputs_of
from encoders.training.architectures.markers import templates
from encoders.training.recipe import Recipe
from mappings.errors import InvalidInput

TOGETHER = 12
"""Sequences that a cross-encoder computes at once, neighbours by length: less padding, and small enough for caches."""
TOGETHER_ON_GPU = 512


def precision(model: Any, recipe: Recipe) -> Any:
    """The model computes in the recipe's precision; the loss, which is small and steep, always in float32."""
    return torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.precision == "bf16")


def freeze(model: Any, prefixes: Sequence[str]) -> int:
    """Fix the parameters whose name holds one of `prefixes`; how many numbers still train.

    Raises `InvalidInput` for a prefix that no name holds, and where nothing is left to train.
    """
    names = [name for name, _ in model.named_parameters()]
    for prefix in prefixes:
        if not any(prefix in name for name in names):
            message = f"frozen holds {prefix!r}, and no weight of the base is named so; the first is {names[0]!r}"
            raise InvalidInput(message, field="frozen")
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any(prefix in name for prefix in prefixes)
    left = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    if not left:
        raise InvalidInput(f"frozen is {list(prefixes)}, which leaves no weight to train", field="frozen")
    return left


def similarities(model: Any, tokenizer: Any, queries: Sequence[str], passages: Sequence[str], recipe: Recipe) -> Tensor:
    """Scores of each of b queries with each of m passages, (b, m), by a bi-encoder or poly-encoder."""
    found: Tensor = model.similarities(
        read(model, tokenizer, queries, recipe, query=True), read(model, tokenizer, passages, recipe, query=False)
    )
    return found


def read(model: Any, tokenizer: Any, texts: Sequence[str], recipe: Recipe, query: bool) -> dict[str, Tensor]:
    """Texts as inputs (n, t) on the model's device, in their template and cut to their length."""
    template = templates(recipe.markers)[0 if query else 1]
    limit = recipe.max_query if query else recipe.max_length
    ready = [template.replace("{text}", text) for text in texts]
    tokens = tokenizer(ready, padding=True, truncation=True, max_length=limit, return_tensors="pt")
    return _inputs(model, tokens)


def score(model: Any, tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Tensor:
    """One logit for each query with its text, by a cross-encoder: shape (n,)."""
    return logit(logits(model, tokenizer, queries, texts, recipe))


def logits(model: Any, tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Tensor:
    """The logits of each query with its text: shape (n, classes). Long texts are cut, queries only beyond `max_query`."""
    tokens = joined(tokenizer, queries, texts, recipe)
    order = sorted(range(len(texts)), key=lambda at: len(tokens["input_ids"][at]))
    together = TOGETHER if model.device.type == "cpu" else TOGETHER_ON_GPU
    parts = []
    for start in range(0, len(order), together):
        chunk = {name: [tokens[name][at] for at in order[start : start + together]] for name in tokens}
        parts.append(model(**_inputs(model, tokenizer.pad(chunk, return_tensors="pt"))).logits)
    places = torch.tensor(order).argsort().to(parts[0].device)
    return torch.cat(parts)[places]


def joined(tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Mapping[str, Any]:
    """Each query with its text as one input, not yet padded: the query cut to its own limit, then only the text."""
    left, right = (template.replace for template in templates(recipe.markers))
    first = [left("{text}", query) for query in queries]
    short = tokenizer(first, truncation=True, max_length=recipe.max_query, add_special_tokens=False)["input_ids"]
    if any(len(ids) == recipe.max_query for ids in short):
        first = tokenizer.batch_decode(short)
    second = [right("{text}", text) for text in texts]
    if recipe.cut == "middle":
        return _without_middles(tokenizer(first, second, verbose=False), recipe.max_length)
    pairs: Mapping[str, Any] = tokenizer(first, second, truncation="only_second", max_length=recipe.max_length)
    return pairs


def _without_middles(pairs: Any, most: int) -> Mapping[str, Any]:
    """Pairs of at most `most` tokens each, cut as serving cuts them."""
    parts = [
        cut_middle(pair, most - pair.sequence_ids.count(0) - pair.sequence_ids.count(None)) for pair in pairs.encodings
    ]
    return {
        "input_ids": [part.ids for part in parts],
        "token_type_ids": [part.types for part in parts],
        "attention_mask": [[1] * len(part) for part in parts],
    }


def _inputs(model: Any, tokens: Mapping[str, Tensor]) -> dict[str, Tensor]:
    wanted = inputs_of(model)
    return {name: value.to(model.device) for name, value in tokens.items() if name in wanted}


def mix(model: Any, base: Any, share: float) -> None:
    """Set each weight to `share` of its own and the rest of the base's (model soup)."""
    origin = base.state_dict()
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            if name in origin and weight.is_floating_point():
                weight.mul_(share).add_(origin[name].to(weight.device), alpha=1 - share)
