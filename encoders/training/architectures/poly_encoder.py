"""The poly-encoder of CAPR (P4): a query's vector attends to a passage's token vectors, which are computed once.

Equation 2: y = softmax(P q^T), s = relu(W y) . q. The softmax gives weights over tokens, so y in s is the sum of the
token vectors with these weights. Unlike in the paper, each token of the query can also attend separately, as the outputs
of the transformer are codes in Humeau et al. 2020 ("first m outputs").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.text import AROUND
from encoders.training.architectures.bi_encoder import Towers
from encoders.training.architectures.families import reads_surroundings


class PolyScorer(nn.Module):
    """The scoring function. `weight` is W (d, d), initially the identity; `sharpness` multiplies P q^T before the softmax.

    The paper uses 1, with vectors of any length. Unit vectors need more: their products are in [-1, 1], where the
    softmax is almost flat.
    """

    def __init__(self, width: int, sharpness: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))
        self.sharpness = sharpness

    def forward(self, queries: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Queries (b, d), passages' tokens (m, t, d) with their mask (m, t) -> scores (b, m)."""
        attention = torch.einsum("bd,mtd->bmt", queries, tokens) * self.sharpness
        weights = attention.masked_fill(~mask.bool(), float("-inf")).softmax(dim=-1)
        latent = functional.relu(torch.einsum("bmt,mtd->bmd", weights, tokens) @ self.weight.T)
        return torch.einsum("bmd,bd->bm", latent, queries)


class TokenScorer(nn.Module):
    """s = sum_i a_i q_i . W y_i, where y_i = softmax(P q_i) P is what query token i attends to.

    a = softmax(importance . q) over the query's tokens. W starts as the identity and `importance` (d,) as 0, so that an
    untrained scorer is a soft MaxSim (Khattab & Zaharia 2020, eq. 3). A relu, as in equation 2, would discard half of it.
    """

    def __init__(self, width: int, sharpness: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))
        self.importance = nn.Parameter(torch.zeros(width))
        self.sharpness = sharpness

    def forward(self, queries: Tensor, query_mask: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Queries' tokens (b, k, d) with their mask (b, k), passages' (m, t, d) with theirs (m, t) -> scores (b, m)."""
        attention = torch.einsum("bkd,mtd->bmkt", queries, tokens) * self.sharpness
        weights = attention.masked_fill(~mask.bool()[None, :, None], float("-inf")).softmax(dim=-1)
        values = torch.einsum("bkd,mtd->bmkt", queries @ self.weight, tokens)
        shares = (queries @ self.importance).masked_fill(~query_mask.bool(), float("-inf")).softmax(dim=-1)
        return ((weights * values).sum(dim=-1) * shares.unsqueeze(1)).sum(dim=-1)


class PolyEncoderModule(Towers):
    """Towers with a scorer; if they normalise, token vectors have unit length, too.

    `codes` is the part of the query that attends: its `vector`, with a `PolyScorer`, or its `tokens`, with a `TokenScorer`.
    """

    def __init__(
        self, towers: tuple[Any, Any | None], pooling: str, normalise: bool, codes: str, sharpness: float
    ) -> None:
        super().__init__(*towers, pooling, normalise)
        self.codes = codes
        self.head = {"vector": PolyScorer, "tokens": TokenScorer}[codes](self.config.hidden_size, sharpness)

    def tokens(self, inputs: Mapping[str, Tensor], query: bool = False) -> Tensor:
        """Inputs (n, t) -> token vectors (n, t, d)."""
        hidden = self.hidden(inputs, query)
        return functional.normalize(hidden, dim=-1) if self.normalise else hidden

    def scorer(self) -> Tensor:
        """The scorer's parameters as an artifact stores them: W (d, d), then `importance` as a last row if there is one."""
        rows = [self.head.weight] + ([self.head.importance[None]] if self.codes == "tokens" else [])
        return torch.cat(rows).detach().float().cpu()

    def represent(self, inputs: Mapping[str, Tensor], query: bool) -> tuple[Tensor, ...]:
        """Inputs (n, t) -> what `compare` needs of them: token vectors (n, t, d) with their mask, or a query's vector (n, d)."""
        if query and self.codes == "vector":
            return (self.vectors(inputs, query=True),)
        return self.tokens(inputs, query), inputs["attention_mask"] if query else own_tokens(self.config, inputs)

    def compare(self, queries: Sequence[Tensor], passages: Sequence[Tensor]) -> Tensor:
        """What is represented of b queries and m passages -> all scores (b, m), in float32 whatever the towers' precision."""
        with torch.autocast(passages[0].device.type, enabled=False):
            scores: Tensor = self.head(*queries, *passages)
            return scores

    def similarities(self, queries: Mapping[str, Tensor], passages: Mapping[str, Tensor]) -> Tensor:
        """Inputs of b queries and m passages -> all scores (b, m)."""
        right = self.represent(passages, query=False)
        return self.compare(self.represent(queries, query=True), right)


def own_tokens(config: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """The mask (n, t) of the passages' own tokens, without padding and without what is around them."""
    mask = inputs["attention_mask"]
    if not reads_surroundings(config) or "token_type_ids" not in inputs:
        return mask
    return mask * (inputs["token_type_ids"] != AROUND)
