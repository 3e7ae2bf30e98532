"""The supported families of Hugging Face checkpoints, and the differences between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from mappings.errors import ModelError

SUPPORTED = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "distilbert": "DistilBERT",
    "mpnet": "MPNet",
    "xlnet": "XLNet",
    "longformer": "Longformer",
}
"""The `model_type` of a configuration -> the family's name."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
LAYERS = ("encoder.layer", "transformer.layer", "layer")
"""The attributes of a backbone under which the families store their layers."""
ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout", "dropatt")


def prepare_config(config: Any, base: str) -> Any:
    """Adapt a base's configuration to training, in place. Raises `ModelError` for an unsupported family.

    Attention dropout is switched off: it draws a random number per pair of tokens, which on a CPU takes longer than the
    rest of a step.
    """
    check_family(config.model_type, base)
    for name in set(ATTENTION_DROPOUT) & set(config.to_dict()):
        setattr(config, name, 0.0)
    if config.model_type == "xlnet":
        config.use_mems_eval = config.use_mems_train = False  # each text is independent: no memory of the previous one
    return config


def check_family(family: str, base: str) -> None:
    """Raise `ModelError` if `family`, the `model_type` of a base's configuration, is not supported."""
    if family not in SUPPORTED:
        known = ", ".join(SUPPORTED.values())
        raise ModelError(f"the base {base!r} belongs to the family {family!r}; supported are {known}", field="base")


def max_positions(config: Any) -> int:
    """The maximum number of tokens of a base; 0 if there is no limit. Some families reserve their first positions."""
    known = getattr(config, "max_position_embeddings", 0) or 0
    return max(0, known - first_position(config))


def first_position(config: Any) -> int:
    """The row of the position embeddings that the first token has."""
    if config.model_type == "longformer":
        return int(config.pad_token_id) + 1
    return 2 if config.model_type in ("roberta", "mpnet") else 0


def has_token_types(config: Any) -> bool:
    """Whether the model distinguishes the two texts of a pair, or a passage and what is around it, by token types."""
    return reads_surroundings(config) or config.model_type == "xlnet" or getattr(config, "type_vocab_size", 0) > 1


def reads_surroundings(config: Any) -> bool:
    """Whether the model reads a passage with what is around it, which its token types tell apart."""
    return bool(config.model_type == "longformer")


def inputs_of(model: Any) -> list[str]:
    """The names of the model's inputs; token types only if it has more than one."""
    return [name for name in INPUTS if name != "token_type_ids" or has_token_types(model.config)]


def is_cls_last(config: Any) -> bool:
    """Whether the CLS token is the last of a text, as in XLNet, rather than the first."""
    return bool(config.model_type == "xlnet")


def backbone(model: Any) -> Any:
    """The encoder inside a model with a head, or the model itself."""
    return getattr(model, model.base_model_prefix, model) if hasattr(model, "base_model_prefix") else model


def keep_layers(model: Any, layers: Sequence[int]) -> Any:
    """Keep only the layers with these indices, from 0, in this order, in place; all if `layers` is empty.

    Raises `ModelError` for an index that the model does not have.
    """
    if not layers:
        return model
    owner, name = _layers(backbone(model))
    found = getattr(owner, name)
    if unknown := [number for number in layers if not 0 <= number < len(found)]:
        raise ModelError(f"layers contains {unknown[0]}; the base has 0 to {len(found) - 1}", field="layers")
    setattr(owner, name, nn.ModuleList(found[number] for number in layers))
    model.config.num_hidden_layers = len(layers)
    if isinstance(windows := getattr(model.config, "attention_window", None), list):  # one for each layer
        model.config.attention_window = [windows[number] for number in layers]
    return model


def _layers(model: Any) -> tuple[Any, str]:
    """The module that owns the list of layers, and the attribute's name."""
    for path in LAYERS:
        *parents, name = path.split(".")
        owner = model
        for parent in parents:
            owner = getattr(owner, parent, None)
        if isinstance(getattr(owner, name, None), nn.ModuleList):
            return owner, name
    raise ModelError("the base stores its layers under a name that no supported family uses", field="layers")
