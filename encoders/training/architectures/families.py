"""The families of Hugging Face checkpoints that train and export here, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from mappings.errors import ModelError

SUPPORTED = {"bert": "BERT", "roberta": "RoBERTa", "distilbert": "DistilBERT", "xlnet": "XLNet"}
"""The `model_type` of a configuration -> the family's name."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
LAYERS = ("encoder.layer", "transformer.layer", "layer")
"""Where the families keep their layers, inside the backbone."""
ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout", "dropatt")


def prepare(config: Any, base: str) -> Any:
    """A base's configuration, made ready for training. Raises `ModelError` for a family that is not supported.

    Attention dropout is switched off: it draws a number for each pair of tokens, which on a CPU takes longer than the
    rest of a step.
    """
    supported(config.model_type, base)
    for name in set(ATTENTION_DROPOUT) & set(config.to_dict()):
        setattr(config, name, 0.0)
    if config.model_type == "xlnet":
        config.use_mems_eval = config.use_mems_train = False  # a text is read whole: no memory of the one before
    return config


def supported(family: str, base: str) -> None:
    """Raise `ModelError` where `family`, the `model_type` of a base's configuration, is not supported."""
    if family not in SUPPORTED:
        known = ", ".join(SUPPORTED.values())
        raise ModelError(f"the base {base!r} is of the family {family!r}; supported are {known}", field="base")


def positions(config: Any) -> int:
    """The most tokens that a base has positions for; 0 where it takes any number. RoBERTa's first two are padding's."""
    known = getattr(config, "max_position_embeddings", 0) or 0
    return max(0, known - 2 if config.model_type == "roberta" else known)


def typed(config: Any) -> bool:
    """Whether the model tells the first text of a pair from the second by token types."""
    return config.model_type == "xlnet" or getattr(config, "type_vocab_size", 0) > 1


def inputs_of(model: Any) -> list[str]:
    """The inputs that matter to the model: token types only where it has more than one."""
    return [name for name in INPUTS if name != "token_type_ids" or typed(model.config)]


def cls_last(config: Any) -> bool:
    """Whether the CLS token ends the text, as XLNet's does, rather than begin it."""
    return bool(config.model_type == "xlnet")


def backbone(model: Any) -> Any:
    """The encoder inside a model with a head, or the model itself."""
    return getattr(model, model.base_model_prefix, model) if hasattr(model, "base_model_prefix") else model


def keep_layers(model: Any, layers: Sequence[int]) -> Any:
    """Keep the layers of these numbers, from 0, in this order; all when there are none named. Changes `model`.

    Raises `ModelError` for a number that the model does not have.
    """
    if not layers:
        return model
    owner, name = _layers(backbone(model))
    found = getattr(owner, name)
    if strange := [number for number in layers if not 0 <= number < len(found)]:
        raise ModelError(f"layers names {strange[0]}; the base has 0 to {len(found) - 1}", field="layers")
    setattr(owner, name, nn.ModuleList(found[number] for number in layers))
    model.config.num_hidden_layers = len(layers)
    return model


def _layers(model: Any) -> tuple[Any, str]:
    """(module, attribute) of the list of layers."""
    for path in LAYERS:
        *parents, name = path.split(".")
        owner = model
        for parent in parents:
            owner = getattr(owner, parent, None)
        if isinstance(getattr(owner, name, None), nn.ModuleList):
            return owner, name
    raise ModelError("the base keeps its layers where no supported family does", field="layers")
