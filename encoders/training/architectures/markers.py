"""The markers `[QUERY]` and `[PASSAGE]` before a text (CAPR P3), as plain text or as new special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MARKERS = {"[QUERY]": "query", "[PASSAGE]": "passage"}
"""Marker -> the word from whose embedding the new token is initialised."""


def templates(markers: str) -> tuple[str, str]:
    """The (query, passage) templates that serving fills."""
    if markers == "none":
        return "{text}", "{text}"
    query, passage = MARKERS
    return f"{query} {{text}}", f"{passage} {{text}}"


def add_marker_tokens(tokenizer: Any, models: Sequence[Any]) -> None:
    """Add the markers as special tokens, in place; each embedding starts as the mean of its word's pieces.

    So a marker has a meaning even if word embeddings are frozen.
    """
    words = {name: tokenizer(word, add_special_tokens=False)["input_ids"] for name, word in MARKERS.items()}
    if not tokenizer.add_special_tokens({"additional_special_tokens": list(MARKERS)}):
        return
    for model in models:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        weight = model.get_input_embeddings().weight
        with torch.no_grad():
            for name, pieces in words.items():
                weight[tokenizer.convert_tokens_to_ids(name)] = weight[pieces].mean(dim=0)
