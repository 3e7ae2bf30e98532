"""Cross-encoders: query and passage through one encoder as `[CLS] query [SEP] passage [SEP]` (CLAIMS L4, CAPR P5).

The head `cls` is Hugging Face's own for a sequence, with one logit or two classes; `interaction` is ours. All have
`.config` and give an output with `.logits` (n, 1 or 2), so that nothing else needs to tell them apart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, XLNetForSequenceClassification
from transformers.modeling_outputs import SequenceClassifierOutput

from encoders.training.architectures.families import cls_last, typed
from encoders.training.architectures.interaction import InteractionHead
from encoders.training.architectures.places import cls_token, segments


class InteractionCrossEncoder(nn.Module):
    """A backbone under `InteractionHead`. `cls` and `separator` are the ids of the special tokens in its vocabulary."""

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
        """Where the model is."""
        return self.backbone.device

    def get_input_embeddings(self) -> Any:
        """The table of word embeddings, as Hugging Face's models give it."""
        return self.backbone.get_input_embeddings()

    def set_input_embeddings(self, table: Any) -> None:
        """Replace the table of word embeddings."""
        self.backbone.set_input_embeddings(table)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Ids, mask and types (n, t) -> logits (n, 1)."""
        types = token_type_ids if typed(self.config) else None
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        hidden = self.backbone(**inputs | ({} if types is None else {"token_type_ids": types})).last_hidden_state
        query, passage = segments(input_ids, attention_mask, types, self.cls, self.separator)
        with torch.autocast(hidden.device.type, enabled=False):  # a cosine in bfloat16, times twenty, is noise
            hidden = hidden.float()
            cls = cls_token(hidden, attention_mask, cls_last(self.config))
            return SequenceClassifierOutput(logits=self.head(hidden, query, passage, cls).unsqueeze(-1))


class XLNetCrossEncoder(XLNetForSequenceClassification):
    """XLNet's head on the CLS token wherever the padding is; the original takes the last place, padding or not."""

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Ids, mask and types (n, t) -> logits (n, classes)."""
        hidden = self.transformer(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
        cls = cls_token(hidden, attention_mask, last=True).unsqueeze(1)
        return SequenceClassifierOutput(logits=self.logits_proj(self.sequence_summary(cls)))


def new_classifier(config: Any) -> Any:
    """A cross-encoder with the head `cls`, its weights random."""
    if config.model_type == "xlnet":
        return XLNetCrossEncoder(config)
    return AutoModelForSequenceClassification.from_config(config)


def classifier(model_type: str) -> Any:
    """The class that loads a cross-encoder with the head `cls`."""
    return XLNetCrossEncoder if model_type == "xlnet" else AutoModelForSequenceClassification


def logit(logits: Tensor) -> Tensor:
    """One score a pair, (n, 1 or 2) -> (n,): of two classes the log odds, which order as the softmax probability does."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
