"""Make a Longformer from a BERT or RoBERTa, as Beltagy et al. 2020 (section 5) do, for want of one that is pre-trained.

Positions beyond those of the base are copies of them, repeated: attention to the left and right neighbour is learned, and so
kept everywhere but at the seams. The query, key and value of global attention start as those of local attention.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor
from transformers import LongformerConfig

from encoders.training.architectures.families import SUPPORTED, first_position, max_positions
from encoders.training.architectures.longformer.model import PassageLongformer
from mappings.errors import ModelError

EXTENDABLE: Final = ("bert", "roberta", "longformer")
"""Families that name their weights alike, and add an embedding of its absolute position to each token."""
_KEPT: Final = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "initializer_range",
    "layer_norm_eps",
    "type_vocab_size",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "sep_token_id",
)
"""What a configuration says that stays as it is."""
_POSITIONS: Final = "embeddings.position_embeddings.weight"
_LOCAL: Final = re.compile(r"(.*\.attention\.self\.(?:query|key|value))(\.\w+)")


def extend(base: Any, positions: int, window: int) -> PassageLongformer:
    """A Longformer with the weights of a base, for `positions` tokens, whose local attention takes `window` of them.

    Raises `ModelError` for a base of a family without positions to repeat.
    """
    family = base.config.model_type
    if family not in EXTENDABLE:
        able = ", ".join(SUPPORTED[name] for name in EXTENDABLE)
        raise ModelError(
            f"positions is {positions}, but a base of the family {SUPPORTED.get(family, family)} has no embeddings of"
            f" absolute positions to repeat under a name that is known; {able} have",
            field="base",
        )
    values = base.config.to_dict()
    kept = {name: values[name] for name in _KEPT if values.get(name) is not None}
    pad = kept["pad_token_id"] = kept.get("pad_token_id", 0)
    size = positions + pad + 1  # a Longformer's first position is the one after that of padding
    made = PassageLongformer(LongformerConfig(**kept, attention_window=window, max_position_embeddings=size))
    state = dict(base.state_dict())
    table = state[_POSITIONS]
    state[_POSITIONS] = repeat_positions(
        table[first_position(base.config) :][: max_positions(base.config)], size, pad + 1
    )
    names = made.state_dict().keys()
    state = {name: value for name, value in (_copy_global(state) | state).items() if name in names}
    made.load_state_dict(state)
    return made.to(base.device).train(base.training)


def repeat_positions(table: Tensor, size: int, first: int) -> Tensor:
    """`size` embeddings: from `first` on those of `table`, in its order and again from its start, and zeros before."""
    repeated = table[torch.arange(size - first, device=table.device) % len(table)]
    return torch.cat([table.new_zeros(first, table.shape[1]), repeated])


def _copy_global(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of global attention by name, copied from local attention."""
    found = ((_LOCAL.fullmatch(name), value) for name, value in state.items())
    return {f"{match[1]}_global{match[2]}": value.clone() for match, value in found if match}
