"""Cross-encoders: one encoder reads `[CLS] query [SEP] passage [SEP]` (CLAIMS L4, CAPR P5).

The head `cls` is Hugging Face's sequence classifier with one logit or two classes; `interaction` is ours. All have
`.config` and return an output with `.logits` (n, 1 or 2), so that callers need not distinguish them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, XLNetForSequenceClassification
from transformers.modeling_outputs import SequenceClassifierOutput

from encoders.training.architectures.families import has_token_types, is_cls_last
from encoders.training.architectures.interaction import InteractionHead
from encoders.training.architectures.token_roles import cls_token, segments


class InteractionCrossEncoder(nn.Module):
    """A backbone with an `InteractionHead`. `cls` and `separator` are token ids in its vocabulary."""

    def __init__(self, backbone: Any, cls: int, separator: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = InteractionHead(backbone.config.hidden_size)
        self.cls, self.separator = cls, separator

    @property
    def config(self) -> Any:
        """The backbone's configuration."""
        return self.backbone.config

    @property
    def device(self) -> Any:
        """The device of the model."""
        return self.backbone.device

    def get_input_embeddings(self) -> Any:
        """The word embeddings, as Hugging Face's models return them."""
        return self.backbone.get_input_embeddings()

    def set_input_embeddings(self, table: Any) -> None:
        """Replace the word embeddings."""
        self.backbone.set_input_embeddings(table)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Ids, mask and types (n, t) -> logits (n, 1)."""
        types = token_type_ids if has_token_types(self.config) else None
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        hidden = self.backbone(**inputs | ({} if types is None else {"token_type_ids": types})).last_hidden_state
        query, passage = segments(input_ids, attention_mask, types, self.cls, self.separator)
        with torch.autocast(hidden.device.type, enabled=False):  # a cosine in bfloat16, times twenty, is noise
            hidden = hidden.float()
            cls = cls_token(hidden, attention_mask, is_cls_last(self.config))
            return SequenceClassifierOutput(logits=self.head(hidden, query, passage, cls).unsqueeze(-1))


class XLNetCrossEncoder(XLNetForSequenceClassification):
    """XLNet's head on the CLS token, wherever the padding is; the original uses the last position even if it is padding."""

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Ids, mask and types (n, t) -> logits (n, classes)."""
        hidden = self.transformer(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
        cls = cls_token(hidden, attention_mask, last=True).unsqueeze(1)
        return SequenceClassifierOutput(logits=self.logits_proj(self.sequence_summary(cls)))


def new_classifier(config: Any) -> Any:
    """A cross-encoder with the head `cls` and random weights."""
    if config.model_type == "xlnet":
        return XLNetCrossEncoder(config)
    return AutoModelForSequenceClassification.from_config(config)


def classifier_class(model_type: str) -> Any:
    """The class that loads a cross-encoder with the head `cls`."""
    return XLNetCrossEncoder if model_type == "xlnet" else AutoModelForSequenceClassification


def score_in_float32(model: Any) -> Any:
    """The cross-encoder, whose last layer is computed in float32 also under autocast; returns it.

    A score in bfloat16 has eight bits, so that many of five hundred candidates would tie.
    """
    (*_, last) = (module for module in model.modules() if isinstance(module, nn.Linear))
    last.register_forward_hook(_in_float32)
    return model


def _in_float32(layer: nn.Linear, inputs: tuple[Tensor], found: Tensor) -> Tensor:
    if found.dtype == torch.float32:
        return found
    with torch.autocast(found.device.type, enabled=False):
        bias = None if layer.bias is None else layer.bias.float()
        return nn.functional.linear(inputs[0].float(), layer.weight.float(), bias)


def to_logit(logits: Tensor) -> Tensor:
    """One score per pair, (n, 1 or 2) -> (n,); of two classes the log odds, which rank like the softmax probability."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
