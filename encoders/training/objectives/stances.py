"""The objective of stance classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from encoders.training.architectures.stance import StanceOutput
from encoders.training.data.batches import ClaimExample
from encoders.training.data.frozen_readings import TaughtReading
from encoders.training.objectives.formulas import kl
from mappings.stances import STANCES

UNKNOWN: Final = -1


def stance_loss(found: StanceOutput, wanted: Sequence[ClaimExample], evidence: float) -> Tensor:
    """The cross-entropy of n stances and, times `evidence`, that of each sentence where sentences are marked (a scalar).

    A passage without a known stance adds nothing.
    """
    device = found.stances.device
    stances = torch.tensor(
        [UNKNOWN if item.stance is None else STANCES.index(item.stance) for item in wanted], device=device
    )
    loss = cross_entropy(found.stances.float(), stances, ignore_index=UNKNOWN, reduction="sum")
    loss = loss / max(1, sum(item.stance is not None for item in wanted))
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


def taught_stance_loss(
    found: StanceOutput, taught: Sequence[TaughtReading], evidence: float, temperature: float
) -> Tensor:
    """The KL divergence of the teacher's n stances from the student's (Hinton et al. 2015) and that of sentences (a scalar).

    That of sentences, times `evidence`, is the cross-entropy of each that both read with the teacher's probability that it
    is evidence. The teacher's logits are divided by `temperature`.
    """
    device = found.stances.device
    stances = torch.from_numpy(np.stack([item.stances for item in taught])).to(device)
    loss = kl(found.stances.float(), stances / temperature)
    wanted = torch.full(found.evidence.shape, float("-inf"))
    for row, item in enumerate(taught):
        size = min(len(item.evidence), wanted.shape[1])
        wanted[row, :size] = torch.from_numpy(item.evidence[:size])
    wanted = wanted.to(device)
    told = found.known & wanted.isfinite()
    if not evidence or not told.any():
        return loss
    probabilities = (wanted[told] / temperature).sigmoid()
    return loss + evidence * binary_cross_entropy_with_logits(found.evidence[told].float(), probabilities)
