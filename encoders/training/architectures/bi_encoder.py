"""The bi-encoder: one vector per query and per passage, with a shared tower or two (CAPR P3; RADIOLOGY R4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.text import group_by_length
from encoders.training.architectures.families import is_cls_last
from encoders.training.architectures.token_roles import cls_token, mean_token
from mappings.errors import ModelError

POOLED = "pooled"
"""The name of a mask beside a model's inputs: the tokens over which the mean is taken, where these are not all."""

CPU_BATCH_TOKENS = 2048
"""Tokens per forward pass on a CPU, including padding."""


class Towers(nn.Module):
    """A tower for passages and optionally a separate one for queries. `pooling` is mean or cls."""

    def __init__(self, passages: Any, queries: Any | None, pooling: str, normalise: bool) -> None:
        super().__init__()
        self.passages, self.queries = passages, queries
        self.pooling, self.normalise = pooling, normalise

    @property
    def config(self) -> Any:
        """The configuration of the passages' tower."""
        return self.passages.config

    @property
    def device(self) -> Any:
        """The device of the model."""
        return self.passages.device

    def get_input_embeddings(self) -> Any:
        """The word embeddings, as Hugging Face's models return them."""
        return self.passages.get_input_embeddings()

    def set_input_embeddings(self, table: Any) -> None:
        """Replace the word embeddings. Raises `ModelError` for two towers, which have two tables."""
        if self.queries is not None:
            raise ModelError("a model of two towers has two tables of word embeddings", field="towers")
        self.passages.set_input_embeddings(table)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Any:
        """The output of the passages' tower for ids, mask and types of shape (n, t)."""
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return self.passages(input_ids=input_ids, attention_mask=attention_mask, **types)

    def tower(self, query: bool) -> Any:
        """The tower that reads queries, or the one that reads passages."""
        return self.queries if query and self.queries is not None else self.passages

    def vectors(self, inputs: Mapping[str, Tensor], query: bool) -> Tensor:
        """Inputs (n, t) -> vectors (n, d), of unit length if the model normalises.

        With a mask `pooled` (n, t) among them a vector is the mean over its tokens, in the context of the others.
        """
        pooled_mask = inputs.get(POOLED, inputs["attention_mask"])
        inputs = {name: value for name, value in inputs.items() if name != POOLED}
        hidden, mask = self.hidden(inputs, query), pooled_mask
        pooled = (
            mean_token(hidden, mask) if self.pooling == "mean" else cls_token(hidden, mask, is_cls_last(self.config))
        )
        return functional.normalize(pooled, dim=-1) if self.normalise else pooled

    def hidden(self, inputs: Mapping[str, Tensor], query: bool) -> Tensor:
        """Inputs (n, t) -> the last hidden states (n, t, d), in float32; those of padding are meaningless.

        On a CPU, texts of similar length are computed together: one batch padded to its longest text and larger than the
        caches takes about twice as long.
        """
        tower, mask = self.tower(query), inputs["attention_mask"]
        lengths = mask.sum(dim=1).tolist()
        if mask.device.type != "cpu" or mask.numel() <= CPU_BATCH_TOKENS:
            states: Tensor = tower(**inputs).last_hidden_state
            return states.float()
        found, order = [], []
        for rows in group_by_length(lengths, CPU_BATCH_TOKENS):
            columns = mask[rows].any(dim=0).nonzero()
            first, last = int(columns.min()), int(columns.max()) + 1  # some families pad on the left
            part = {name: value[rows, first:last] for name, value in inputs.items()}
            states = tower(**part).last_hidden_state.float()
            found.append(functional.pad(states, (0, 0, first, mask.shape[1] - last)))
            order += rows
        return torch.cat(found)[torch.tensor(order).argsort()]


class BiEncoderModule(Towers):
    """Similarity is the dot product, which is the cosine if vectors are normalised."""

    def represent(self, inputs: Mapping[str, Tensor], query: bool) -> tuple[Tensor, ...]:
        """Inputs (n, t) -> what `compare` needs of them: their vectors (n, d)."""
        return (self.vectors(inputs, query),)

    def compare(self, queries: Sequence[Tensor], passages: Sequence[Tensor]) -> Tensor:
        """What is represented of b queries and m passages -> all scores (b, m), in float32 whatever the towers' precision."""
        (left,), (right,) = queries, passages
        with torch.autocast(left.device.type, enabled=False):
            return left @ right.T

    def similarities(self, queries: Mapping[str, Tensor], passages: Mapping[str, Tensor]) -> Tensor:
        """Inputs of b queries and m passages -> all scores (b, m)."""
        return self.compare(self.represent(queries, query=True), self.represent(passages, query=False))
