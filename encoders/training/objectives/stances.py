"""The objective of stance classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from encoders.training.architectures.stance import StanceOutput
from encoders.training.data.batches import ClaimExample
from mappings.stances import STANCES


def stance_loss(found: StanceOutput, wanted: Sequence[ClaimExample], evidence: float) -> Tensor:
    """The cross-entropy of n stances and, times `evidence`, that of each sentence where sentences are marked (a scalar)."""
    device = found.stances.device
    stances = torch.tensor([STANCES.index(item.stance) for item in wanted], device=device)
    loss = cross_entropy(found.stances.float(), stances)
    shape = found.evidence.shape
    marked = torch.zeros(shape, device=device)
    told = torch.zeros(shape, dtype=torch.bool, device=device)
    for row, item in enumerate(wanted):
        for place, is_marked in enumerate((item.marked or ())[: shape[1]]):
            marked[row, place], told[row, place] = float(is_marked), True
    told &= found.known
    if not evidence or not told.any():
        return loss
    return loss + evidence * binary_cross_entropy_with_logits(found.evidence[told].float(), marked[told])
