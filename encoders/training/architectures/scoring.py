"""Score texts with a torch model, in training and in its held-out evaluation."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
from tokenizers import Tokenizer
from torch import Tensor

from encoders.artifact import Reading
from encoders.late.spans import cut_to_room, span_tokens
from encoders.text import cut_middle, pad, tokenize_in_document
from encoders.training.architectures.bi_encoder import POOLED
from encoders.training.architectures.cross_encoder import to_logit
from encoders.training.architectures.families import inputs_of
from encoders.training.architectures.markers import templates
from encoders.training.recipe import Recipe
from mappings.analysis.window_text import read_window

CPU_BATCH = 12
"""Sequences per forward pass of a cross-encoder, of similar length: less padding, and small enough for the caches."""
GPU_BATCH = 512
_PLAIN: Final[MutableMapping[Any, Tokenizer]] = WeakKeyDictionary()
"""Tokenizer → a copy of it that neither pads nor truncates."""


def autocast(model: Any, recipe: Recipe) -> Any:
    """A context in which the model computes in the recipe's precision; the loss is always computed in float32."""
    return torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.precision == "bf16")


def score_all(model: Any, tokenizer: Any, queries: Sequence[str], passages: Sequence[str], recipe: Recipe) -> Tensor:
    """The scores of b queries with m passages by a bi-encoder or poly-encoder: shape (b, m)."""
    found: Tensor = model.similarities(
        tokenize_texts(model, tokenizer, queries, recipe, query=True),
        tokenize_texts(model, tokenizer, passages, recipe, query=False),
    )
    return found


def encode_texts(model: Any, tokenizer: Any, texts: Sequence[str], recipe: Recipe, query: bool) -> Tensor:
    """The vectors of queries or passages by a bi-encoder: shape (n, d)."""
    found: Tensor = model.vectors(tokenize_texts(model, tokenizer, texts, recipe, query), query)
    return found


def represent_texts(
    model: Any, tokenizer: Any, texts: Sequence[str], recipe: Recipe, query: bool
) -> tuple[Tensor, ...]:
    """What a bi-encoder or poly-encoder compares of n queries or passages: tensors (n, ...)."""
    found: tuple[Tensor, ...] = model.represent(tokenize_texts(model, tokenizer, texts, recipe, query), query)
    return found


def tokenize_texts(model: Any, tokenizer: Any, texts: Sequence[str], recipe: Recipe, query: bool) -> dict[str, Tensor]:
    """Texts as inputs (n, t) on the model's device, in their template and truncated to their limit."""
    template = templates(recipe.markers)[0 if query else 1]
    limit = recipe.max_query if query else recipe.max_length
    if recipe.windows == "surroundings" and not query:
        return _tokenize_in_documents(model, tokenizer, texts, recipe)
    ready = [template.replace("{text}", text) for text in texts]
    if recipe.windows != "separate" and not query:
        return _tokenize_windows(model, tokenizer, ready, limit, recipe.windows == "late-context")
    tokens = tokenizer(ready, padding=True, truncation=True, max_length=limit, return_tensors="pt")
    return _inputs(model, tokens)


def _tokenize_in_documents(model: Any, tokenizer: Any, texts: Sequence[str], recipe: Recipe) -> dict[str, Tensor]:
    """As `tokenize_texts`, passages with what is around them: as they are read in serving."""
    reading = Reading(
        "cls", query_tokens=4, passage_tokens=recipe.max_length, passage_template=templates(recipe.markers)[1]
    )
    tokens = tokenize_in_document(plain_tokenizer(tokenizer), reading, texts)
    batch = pad(tokens, range(len(tokens)))
    arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
    return _inputs(model, {name: torch.from_numpy(array) for name, array in arrays.items()})


def plain_tokenizer(tokenizer: Any) -> Tokenizer:
    """A copy of its backend that neither pads nor truncates: others set both where they use theirs."""
    plain = _PLAIN.get(tokenizer)
    if plain is None:
        plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        plain.no_padding()
        plain.no_truncation()
        _PLAIN[tokenizer] = plain
    return plain


def _tokenize_windows(
    model: Any, tokenizer: Any, texts: Sequence[str], limit: int, with_context: bool
) -> dict[str, Tensor]:
    """As `tokenize_texts`, cut around the windows placed in them; `pooled` (n, t) is 1 at the tokens of each text's window.

    As in serving, the context is not cut off with the rest. `with_context`: its tokens are pooled, too.
    """
    placed = [read_window(text) for text in texts]
    plain = [item.whole for item in placed]
    read = tokenizer(plain, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    names = [name for name in ("input_ids", "token_type_ids") if name in read]
    kept: dict[str, list[list[int]]] = {name: [] for name in names}
    pooled = []
    for at, item in enumerate(placed):
        special = read["special_tokens_mask"][at]
        own = slice(special.index(0), len(special) - special[::-1].index(0)) if 0 in special else slice(0, 0)
        offsets = read["offset_mapping"][at][own]
        first, last = span_tokens(offsets, *item.span)
        is_whole = last - first in (0, len(offsets))  # as a text alone: special tokens are pooled, too
        context = span_tokens(offsets, 0, len(item.context))[1]
        shown, places = cut_to_room(len(offsets), context, first, last, limit - sum(special))
        for name in names:
            values = read[name][at]
            body = values[own]
            kept[name].append(values[: own.start] + [body[place] for place in places] + values[own.stop :])
        inside = [first <= place < last or (with_context and place < shown) for place in places]
        ends = [False] * own.start, [False] * (len(special) - own.stop)
        pooled.append([int(is_whole or found) for found in (*ends[0], *inside, *ends[1])])
    tokens = tokenizer.pad(kept, return_tensors="pt")
    width, left = tokens["input_ids"].shape[1], tokenizer.padding_side == "left"
    padded = [
        ([0] * (width - len(row)) if left else []) + row + ([] if left else [0] * (width - len(row))) for row in pooled
    ]
    return {**_inputs(model, tokens), POOLED: torch.tensor(padded, device=model.device)}


def score_pairs(model: Any, tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Tensor:
    """One logit per (query, text) by a cross-encoder: shape (n,)."""
    return to_logit(compute_logits(model, tokenizer, queries, texts, recipe))


def compute_logits(model: Any, tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Tensor:
    """The logits of each (query, text) by a cross-encoder: shape (n, classes)."""
    tokens = tokenize_pairs(tokenizer, queries, texts, recipe)
    order = sorted(range(len(texts)), key=lambda at: len(tokens["input_ids"][at]))
    size = CPU_BATCH if model.device.type == "cpu" else GPU_BATCH
    parts = []
    for start in range(0, len(order), size):
        chunk = {name: [tokens[name][at] for at in order[start : start + size]] for name in tokens}
        parts.append(model(**_inputs(model, tokenizer.pad(chunk, return_tensors="pt"))).logits)
    inverse = torch.tensor(order).argsort().to(parts[0].device)
    return torch.cat(parts)[inverse]


def tokenize_pairs(tokenizer: Any, queries: Sequence[str], texts: Sequence[str], recipe: Recipe) -> Mapping[str, Any]:
    """One input per (query, text), not yet padded: the query is truncated to its own limit, then only the text is."""
    left, right = (template.replace for template in templates(recipe.markers))
    first = [left("{text}", query) for query in queries]
    short = tokenizer(first, truncation=True, max_length=recipe.max_query, add_special_tokens=False)["input_ids"]
    if any(len(ids) == recipe.max_query for ids in short):
        first = tokenizer.batch_decode(short)
    second = [right("{text}", text) for text in texts]
    if recipe.cut == "middle":
        return _cut_middles(tokenizer(first, second, verbose=False), recipe.max_length)
    pairs: Mapping[str, Any] = tokenizer(first, second, truncation="only_second", max_length=recipe.max_length)
    return pairs


def _cut_middles(pairs: Any, limit: int) -> Mapping[str, Any]:
    """Pairs of at most `limit` tokens each, cut as serving cuts them."""
    parts = [
        cut_middle(pair, limit - pair.sequence_ids.count(0) - pair.sequence_ids.count(None)) for pair in pairs.encodings
    ]
    return {
        "input_ids": [part.ids for part in parts],
        "token_type_ids": [part.types for part in parts],
        "attention_mask": [[1] * len(part) for part in parts],
    }


def _inputs(model: Any, tokens: Mapping[str, Tensor]) -> dict[str, Tensor]:
    wanted = inputs_of(model)
    return {name: value.to(model.device) for name, value in tokens.items() if name in wanted}
