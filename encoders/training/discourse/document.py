"""The document encoder of CDV (Arnold et al. 2020, sections 4.2 to 4.4): a BLSTM over sentences, decoded twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoders.training.discourse.recipe import DiscourseRecipe

_LEAST: float = 1e-12
"""Under the square root of a distance, whose gradient has no bound at 0."""


@dataclass(frozen=True, slots=True)
class TargetDocument:
    """A document as tensors: sentences with flags (t, d + 5), and the vectors of the entity and aspect of each, (t, e) each.

    The aspect of a sentence whose passage has no heading is NaN.
    """

    sentences: Tensor
    entities: Tensor
    aspects: Tensor


class DocumentEncoder(nn.Module):
    """Sentences of documents, shape (b, t, d + 5), to decoded entities and aspects, shape (b, t, e) each."""

    def __init__(self, recipe: DiscourseRecipe, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, recipe.hidden, bidirectional=True, batch_first=True)
        self.discourse = nn.Linear(2 * recipe.hidden, recipe.discourse)
        self.entity = nn.Linear(recipe.discourse, recipe.dimension)
        self.aspect = nn.Linear(recipe.discourse, recipe.dimension)

    def forward(self, sentences: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Equations 11 and 12: the discourse vector is tanh(W (forward ⊕ backward) + b), each decoder a tanh layer on it."""
        packed = nn.utils.rnn.pack_padded_sequence(sentences, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        discourse = torch.tanh(self.discourse(states))
        return torch.tanh(self.entity(discourse)), torch.tanh(self.aspect(discourse))


def document_loss(model: DocumentEncoder, batch: Sequence[TargetDocument]) -> Tensor:
    """The robust loss of a batch, each document counting alike."""
    device = model.discourse.weight.device
    lengths = torch.tensor([len(item.sentences) for item in batch])
    sentences, entities, aspects = (
        nn.utils.rnn.pad_sequence([getattr(item, name) for item in batch], batch_first=True).to(device)
        for name in ("sentences", "entities", "aspects")
    )
    found = model(sentences, lengths)
    return robust_loss(found, (entities, aspects), lengths.to(device))


def robust_loss(found: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor], lengths: Tensor) -> Tensor:
    """Equation 17: sqrt(1 + ((|entity - wanted| + |aspect - wanted|) / 4)²) - 1, the mean over a document's sentences.

    Each tensor has the shape (b, t, e), `lengths` (b,); the mean over documents is taken at last. Where no aspect is wanted
    (NaN) its distance counts as 0.
    """
    told = ~wanted[1].isnan().any(-1)
    distance = _distance(found[0], wanted[0]) + told * _distance(found[1], wanted[1].nan_to_num())
    loss = torch.sqrt(1 + (distance / 4) ** 2) - 1
    inside = torch.arange(loss.shape[1], device=loss.device)[None] < lengths[:, None]
    return ((loss * inside).sum(1) / lengths).mean()


def _distance(found: Tensor, wanted: Tensor) -> Tensor:
    return torch.sqrt((found - wanted).square().sum(-1) + _LEAST)
