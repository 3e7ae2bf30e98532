"""What a bi-encoder's base knows, kept while it learns: its vectors stay near those that the base gives the same texts.

LEAF (Vujanic and Rueckert 2025, arXiv 2509.12539) aligns a student to its teacher by their vectors alone. Here the teacher is
the base itself. It reads each window as a text of its own, which ranks better than windows read late do untrained, so
that a model with late windows also learns to read as if they were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from encoders.training.architectures.scoring import autocast, encode_texts
from encoders.training.recipe import Recipe
from encoders.training.runs.initial import load_initial
from mappings.analysis.window_text import alone


@dataclass(frozen=True, slots=True)
class Anchor:
    """The base of a run, which is not trained."""

    model: Any
    tokenizer: Any
    recipe: Recipe

    @classmethod
    def load(cls, recipe: Recipe, device: Any) -> Anchor | None:
        """The anchor that a recipe asks for, on this device; None if it keeps nothing."""
        if not recipe.keep:
            return None
        own = replace(recipe, windows="separate", dropout=0.0)
        ready = load_initial(own)
        return cls(ready.model.to(device).eval().requires_grad_(False), ready.tokenizer, own)

    def vectors(self, texts: Sequence[str], query: bool) -> Tensor:
        """The base's vectors of these texts, each window read alone: shape (n, d), without a gradient."""
        with torch.no_grad(), autocast(self.model, self.recipe):
            return encode_texts(self.model, self.tokenizer, [*map(alone, texts)], self.recipe, query).float()


def drift(vectors: Tensor, wanted: Tensor) -> Tensor:
    """How far vectors (n, d) of unit length are from those wanted: the mean of 1 - cosine, between 0 and 2, shape ()."""
    return 1 - (vectors * wanted).sum(dim=-1).mean()
