"""Trim the vocabulary of an exported model: remove tokens that the training texts never use.

Half of a small model is its word embeddings, and much of a general vocabulary never occurs in medical text. A word whose
token is removed is split into the shorter pieces that remain; any other text is read exactly as before (Abdaoui et al.
2020, "Load What You Need", do the same for languages).
"""

from __future__ import annotations

import copy
import json
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import torch
from tokenizers import Tokenizer

from mappings.errors import ModelError

BATCH = 500


def find_used_tokens(tokenizer: Any, texts: Iterable[str], least: int = 1) -> frozenset[str]:
    """The tokens that occur at least `least` times in `texts`."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    counts: Counter[int] = Counter()
    group: list[str] = []
    for text in texts:
        group.append(text)
        if len(group) == BATCH:
            _count(backend, group, counts)
            group = []
    _count(backend, group, counts)
    return frozenset(str(backend.id_to_token(number)) for number, count in counts.items() if count >= least)


def trim_vocabulary(model: Any, tokenizer: Any, kept: Collection[str]) -> tuple[Any, Any]:
    """Copies of a model and its tokenizer with only the tokens in `kept`, single characters and special tokens.

    Raises `ModelError` for a tokenizer other than WordPiece, because the pieces of others are built from one another.
    """
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    if content["model"]["type"] != "WordPiece":
        raise ModelError(
            f"only WordPiece vocabularies can be trimmed, not {content['model']['type']}", field="vocabulary"
        )
    known = content["model"]["vocab"]
    inside = [item["id"] for item in content["added_tokens"] if item["id"] < len(known)]
    head = 1 + max(inside, default=-1)  # the special tokens keep their ids, because configurations name them
    tokens = [
        token
        for token, place in sorted(known.items(), key=lambda item: item[1])
        if place < head or token in kept or _is_character(token)
    ]
    places = [known[token] for token in tokens]
    content["model"]["vocab"] = {token: number for number, token in enumerate(tokens)}
    for item in content["added_tokens"]:
        if item["id"] >= len(known):
            places.append(item["id"])
            item["id"] = len(places) - 1
    return _with_rows(model, places), _with_tokens(tokenizer, content)


def _count(backend: Tokenizer, group: list[str], counts: Counter[int]) -> None:
    for encoding in backend.encode_batch_fast(group, add_special_tokens=False):
        counts.update(encoding.ids)


def _is_character(token: str) -> bool:
    """Whether a token is one ASCII or Greek character; with these every word can still be spelt."""
    bare = token.removeprefix("##")
    return len(bare) == 1 and (bare.isascii() or unicodedata.name(bare, "").startswith("GREEK "))


def _with_rows(model: Any, places: list[int]) -> Any:
    """A copy of the model whose word embeddings are the rows `places` of the original, in that order."""
    trimmed = copy.deepcopy(model)
    table = trimmed.get_input_embeddings()
    rows = torch.nn.Embedding(len(places), table.embedding_dim, padding_idx=table.padding_idx)
    with torch.no_grad():
        rows.weight.copy_(table.weight[places])
    trimmed.set_input_embeddings(rows)
    trimmed.config.vocab_size = len(places)
    return trimmed


def _with_tokens(tokenizer: Any, content: dict[str, Any]) -> Any:
    trimmed = copy.deepcopy(tokenizer)
    trimmed._tokenizer = Tokenizer.from_str(json.dumps(content))
    return trimmed
