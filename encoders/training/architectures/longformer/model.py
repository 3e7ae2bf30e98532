"""The Longformer of CAPR (P6; Beltagy et al. 2020): local attention on a passage, global attention on what is around it.

What the paper says, all of it. Of the bi-encoder: "We improve upon the BERT based version of the Bi-encoder by extending the
maximum input sequence length to 4096 tokens. We concatenate surrounding passages with the input passage and use global
attention." Of the poly-encoder: "We apply local attention to the given passage and global attention to the surrounding
passages. We directly use the token embeddings as input to the attention. [...] For the Longformer, we apply an attention mask
to the last attention layer, which masks the token embeddings that are not part of the considered passage."

What it leaves open, and what is done here. CLS, from which vectors are pooled, attends globally, too, as Beltagy et al. do
where a text is classified: the passage may be far from it. "The last attention layer" of a poly-encoder can be the last one of
the Longformer or the attention of the query to the passage's tokens; the tokens around the passage are masked in both.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LongformerModel
from transformers.modeling_outputs import BaseModelOutput

from encoders.text import AROUND

OUT: Final = -1e4
"""A score with no weight in a softmax, within the range of fp16."""
MASKED, LOCAL, GLOBAL = -1.0, 0.0, 1.0
"""The role of a token in attention, by the sign that transformers' layers expect."""


class PassageLongformer(LongformerModel):
    """A Longformer whose token types say which tokens are around the passage (`AROUND`), and so attend globally.

    They do not choose an embedding: all tokens have that of the type 0. With `masks_surroundings` in the configuration, the
    last layer masks the tokens around the passage.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config, add_pooling_layer=False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> BaseModelOutput:
        """Ids, mask and types (n, t) -> hidden states (n, t, d). The padding is on the right."""
        around = torch.zeros_like(attention_mask) if token_type_ids is None else (token_type_ids == AROUND).long()
        roles = find_roles(attention_mask, around)
        last = find_roles(attention_mask * (1 - around), around * 0) if self._masks_surroundings else roles
        hidden = self.embeddings(input_ids=input_ids)
        for layer in self.encoder.layer[:-1]:
            hidden = _run(layer, hidden, roles)
        return BaseModelOutput(last_hidden_state=_run(self.encoder.layer[-1], hidden, last))

    @property
    def _masks_surroundings(self) -> bool:
        return bool(getattr(self.config, "masks_surroundings", False))


def find_roles(mask: Tensor, around: Tensor) -> Tensor:
    """The role of each token, (n, t): `GLOBAL` for CLS, which is the first, and for those around the passage."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0
    roles = torch.where(first | (around > 0), GLOBAL, LOCAL)
    return torch.where(mask > 0, roles, MASKED)


def _run(layer: Any, hidden: Tensor, roles: Tensor) -> Tensor:
    """One layer: transformers' own but for the attention, which is `attend` or, in the same result, `attend_by_role`."""
    own = layer.attention.self
    short = hidden.shape[1] <= own.one_sided_attn_window_size  # all tokens see each other, and a batch is read at once
    attended = (attend if torch.jit.is_tracing() or short else attend_by_role)(own, hidden, roles)
    dense: Tensor = layer.ff_chunk(layer.attention.output(attended, hidden))
    return dense


def attend(attention: Any, hidden: Tensor, roles: Tensor) -> Tensor:
    """Longformer's attention over all pairs of tokens, (n, t, d) -> (n, t, d), with masks that make it the same.

    A local token sees those at most half a window away, and global ones, by the local query, key and value. A global token
    sees all, by the global ones. No token sees a masked one. Exported, this is the graph; for training it is `attend_by_role`.
    """
    places = torch.arange(hidden.shape[1], device=hidden.device)
    near = (places[:, None] - places[None]).abs() <= attention.one_sided_attn_window_size
    known, is_global = roles >= LOCAL, roles > LOCAL
    seen = (near[None] | is_global[:, None]) & known[:, None]

    n, t, d = hidden.shape
    heads, size = attention.num_heads, attention.head_dim

    def over(names: tuple[str, str, str], mask: Tensor) -> Tensor:
        made = (getattr(attention, name)(hidden).view(n, t, heads, size).transpose(1, 2) for name in names)
        query, key, value = made
        bias = torch.where(mask[:, None], 0.0, OUT).to(query.dtype)
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=size**-0.5)

    local = over(("query", "key", "value"), seen)
    everything = over(("query_global", "key_global", "value_global"), known[:, None])
    found = torch.where(is_global[:, None, :, None], everything, local)
    return found.transpose(1, 2).reshape(n, t, d)


def attend_by_role(attention: Any, hidden: Tensor, roles: Tensor) -> Tensor:
    """The attention of `attend`, (n, t, d) -> (n, t, d), text by text and without the pairs of which one does not see the other.

    Of *t* tokens, *g* of them global, it compares *t g + (t - g) (g + 2 w)* pairs at most, with half a window *w*, and not
    *2 t²*. transformers' own attention compares as few, but copies every window: a step over a text of 1,024 tokens, 400 of
    them around the passage, took 8.0 seconds of CPU time instead of 1.9 (MiniLM).
    """
    return torch.stack([_attend_text(attention, *text) for text in zip(hidden, roles, strict=True)])


def _attend_text(attention: Any, hidden: Tensor, roles: Tensor) -> Tensor:
    """One text, (t, d) -> (t, d): its global tokens together, its local ones in blocks of half a window; masked ones get 0."""
    places = (roles >= LOCAL).nonzero().flatten()
    states, is_global = hidden[places], roles[places] > LOCAL
    wide, near = is_global.nonzero().flatten(), (~is_global).nonzero().flatten()
    rows, found = [], []
    if len(wide):
        rows.append(wide)
        key, value = (_heads(attention, name, states) for name in ("key_global", "value_global"))
        found.append(_weigh(_heads(attention, "query_global", states[wide]), key, value))
    if len(near):
        query = _heads(attention, "query", states[near])
        key, value = (_heads(attention, name, states) for name in ("key", "value"))
        reach = attention.one_sided_attn_window_size
        for start in range(0, len(near), reach):
            block = near[start : start + reach]
            first, last = places[block[0]] - reach, places[block[-1]] + reach
            seen = (is_global | ((places >= first) & (places <= last))).nonzero().flatten()
            apart = (places[block][:, None] - places[seen][None]).abs()
            mask = (apart <= reach) | is_global[seen][None]
            rows.append(block)
            found.append(_weigh(query[:, start : start + reach], key[:, seen], value[:, seen], mask))
    made = torch.cat(found)
    return made.new_zeros(hidden.shape).index_copy(0, places[torch.cat(rows)], made)


def _heads(attention: Any, name: str, states: Tensor) -> Tensor:
    """A projection of tokens, (n, d) -> (heads, n, d / heads)."""
    made: Tensor = getattr(attention, name)(states)
    return made.view(len(states), attention.num_heads, attention.head_dim).transpose(0, 1)


def _weigh(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Queries (heads, n, s), keys and values (heads, m, s), and which of them are seen, (n, m) -> (n, heads * s)."""
    bias = None if mask is None or bool(mask.all()) else torch.where(mask, 0.0, OUT).to(query.dtype)[None, None]
    found = functional.scaled_dot_product_attention(
        query[None], key[None], value[None], attn_mask=bias, scale=query.shape[-1] ** -0.5
    )
    return found[0].transpose(0, 1).flatten(1)
