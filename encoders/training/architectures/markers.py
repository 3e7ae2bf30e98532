"""The marks `[QUERY]` and `[PASSAGE]` before a text (CAPR P3): as words of it, or as new special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MARKS = {"[QUERY]": "query", "[PASSAGE]": "passage"}
"""A mark -> the word whose embedding a new token starts from."""


def templates(markers: str) -> tuple[str, str]:
    """(query, passage) templates as serving fills them."""
    if markers == "none":
        return "{text}", "{text}"
    query, passage = MARKS
    return f"{query} {{text}}", f"{passage} {{text}}"


def mark(tokenizer: Any, models: Sequence[Any]) -> None:
    """Make the marks special tokens, in place, each embedded at first as the mean of its word's pieces.

    Frozen word embeddings then give a mark a meaning, too.
    """
    words = {name: tokenizer(word, add_special_tokens=False)["input_ids"] for name, word in MARKS.items()}
    if not tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS)}):
        return
    for model in models:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        weight = model.get_input_embeddings().weight
        with torch.no_grad():
            for name, pieces in words.items():
                weight[tokenizer.convert_tokens_to_ids(name)] = weight[pieces].mean(dim=0)
