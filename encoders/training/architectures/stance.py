"""Stance classifiers: what a passage says of a claim, and which of its sentences say it, from one pass over both.

As in MultiVerS (Wadden et al. 2022, section 3), sentences and stance are read off one encoding of `[CLS] claim [SEP] passage
[SEP]`. Other than there, the stance is read from the CLS token and the sentences together, each by how much it is evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.stances import HIDDEN
from mappings.stances import STANCES

OUT = -1e4
"""A logit with no weight in a softmax, within the range of fp16."""


@dataclass(frozen=True, slots=True)
class StanceOutput:
    """`stances` (n, 3): a logit for each of `mappings.stances.STANCES`; `evidence` (n, s): one for each sentence.

    `known` (n, s) is False for places beyond the last sentence of a passage, and for sentences that were cut off.
    """

    stances: Tensor
    evidence: Tensor
    known: Tensor


class StanceHead(nn.Module):
    """Evidence e_k = w . s_k + b of each sentence s_k (the mean over its tokens), then the stance of [h_CLS; sum_k a_k s_k].

    a = softmax(e). The stance has one hidden layer of `HIDDEN` units with a tanh.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.evidence = nn.Linear(width, 1)
        self.hidden = nn.Linear(2 * width, HIDDEN)
        self.stance = nn.Linear(HIDDEN, len(STANCES))

    def forward(self, states: Tensor, places: Tensor) -> StanceOutput:
        """Hidden states (n, t, d), and for each token (n, t) the place of its sentence, or `NO_SENTENCE`."""
        most = int(places.max().item()) + 1 if places.numel() else 0
        count = max(1, most)
        member = functional.one_hot((places + 1).clamp(min=0), count + 1)[..., 1:].to(states.dtype)  # (n, t, s)
        sizes = member.sum(dim=1)
        sentences = torch.einsum("nts,ntd->nsd", member, states) / sizes.clamp(min=1).unsqueeze(-1)
        known = sizes > 0
        evidence = self.evidence(sentences).squeeze(-1)
        weights = evidence.masked_fill(~known, OUT).softmax(dim=-1) * known.any(dim=-1, keepdim=True)
        read = torch.einsum("ns,nsd->nd", weights, sentences)
        hidden = torch.tanh(self.hidden(torch.cat((states[:, 0], read), dim=-1)))
        return StanceOutput(self.stance(hidden), evidence, known)


class StanceModule(nn.Module):
    """A backbone with a `StanceHead`."""

    def __init__(self, backbone: Any) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = StanceHead(backbone.config.hidden_size)

    @property
    def config(self) -> Any:
        """The backbone's configuration."""
        return self.backbone.config

    @property
    def device(self) -> Any:
        """The device of the model."""
        return self.backbone.device

    def forward(self, places: Tensor, inputs: Mapping[str, Tensor]) -> StanceOutput:
        """Inputs (n, t) and the places of their tokens' sentences (n, t)."""
        states = self.backbone(**inputs).last_hidden_state
        with torch.autocast(states.device.type, enabled=False):
            found: StanceOutput = self.head(states.float(), places)
            return found
