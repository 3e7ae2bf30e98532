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
        length = input_ids.shape[1]
        sliding = not torch.jit.is_tracing() and saves_work(roles, max(self.config.attention_window))
        if sliding:  # transformers' attention takes whole windows
            extra = -length % max(self.config.attention_window)
            input_ids = functional.pad(input_ids, (0, extra), value=self.config.pad_token_id)
            roles, last = (functional.pad(item, (0, extra), value=MASKED) for item in (roles, last))
        hidden = self.embeddings(input_ids=input_ids)
        for layer in self.encoder.layer[:-1]:
            hidden = _run(layer, hidden, roles, sliding)
        hidden = _run(self.encoder.layer[-1], hidden, last, sliding)
        return BaseModelOutput(last_hidden_state=hidden[:, :length] if sliding else hidden)

    @property
    def _masks_surroundings(self) -> bool:
        return bool(getattr(self.config, "masks_surroundings", False))


def find_roles(mask: Tensor, around: Tensor) -> Tensor:
    """The role of each token, (n, t): `GLOBAL` for CLS, which is the first, and for those around the passage."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0
    roles = torch.where(first | (around > 0), GLOBAL, LOCAL)
    return torch.where(mask > 0, roles, MASKED)


def saves_work(roles: Tensor, window: int) -> bool:
    """Whether a sliding window is less work than attention over all pairs of tokens with a mask.

    For *t* tokens, *g* of them global, it compares *t (window + 2 g)* pairs, in whole windows, instead of *2 t²*. What is
    around a passage is often most of a text; then it saves nothing.
    """
    most = int((roles > LOCAL).sum(dim=1).max())
    return roles.shape[1] > max(window, window // 2 + most)


def _run(layer: Any, hidden: Tensor, roles: Tensor, sliding: bool) -> Tensor:
    """One layer, with transformers' attention or, in the same result, `attend`."""
    if not sliding:
        attended = layer.attention.output(attend(layer.attention.self, hidden, roles), hidden)
        dense: Tensor = layer.ff_chunk(attended)
        return dense
    is_global = roles > LOCAL
    found: Tensor = layer(
        hidden,
        attention_mask=roles,
        is_index_masked=roles < LOCAL,
        is_index_global_attn=is_global,
        is_global_attn=bool(is_global.any()),
    )[0]
    return found


def attend(attention: Any, hidden: Tensor, roles: Tensor) -> Tensor:
    """Longformer's attention over all pairs of tokens, (n, t, d) -> (n, t, d), with masks that make it the same.

    A local token sees those at most half a window away, and global ones, by the local query, key and value. A global token
    sees all, by the global ones. No token sees a masked one. Exported, this is the graph.
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
