"""Claims and passages as inputs of a stance classifier, in training as in serving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.artifact import Reading
from encoders.stances import NO_SENTENCE, claim_inputs
from encoders.training.architectures.families import inputs_of
from encoders.training.architectures.markers import templates
from encoders.training.architectures.scoring import plain_tokenizer
from encoders.training.architectures.stance import StanceOutput
from encoders.training.recipe import Recipe
from mappings.stances import ClaimPassage


def read_claims(
    model: Any, tokenizer: Any, claims: Sequence[str], passages: Sequence[ClaimPassage], recipe: Recipe
) -> StanceOutput:
    """What the model reads of each claim in its passage, in one run."""
    plain = plain_tokenizer(tokenizer)
    reading = Reading("mean", False, recipe.max_query, recipe.max_length, *templates(recipe.markers), recipe.cut)
    inputs = claim_inputs(plain, reading, claims, passages)
    width = max(len(item.places) for item in inputs)

    def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], device=model.device)

    arrays = {
        "input_ids": padded([item.tokens.ids for item in inputs], tokenizer.pad_token_id or 0),
        "attention_mask": padded([[1] * len(item.places) for item in inputs], 0),
        "token_type_ids": padded([item.tokens.types for item in inputs], 0),
    }
    found: StanceOutput = model(
        padded([item.places for item in inputs], NO_SENTENCE), {name: arrays[name] for name in inputs_of(model)}
    )
    return found
