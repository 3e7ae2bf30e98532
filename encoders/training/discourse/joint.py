"""CDV fine-tuned (CAPR, "Self-supervised Answer Retrieval on Clinical Notes", section 3.2): its second step.

The transformer that reads sentences is trained jointly with the document encoder, by the same loss. A batch of documents has
too many sentences for memory, so they are read in chunks of similar length (`encoders.training.loop.gradients`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoders.text import Tokens
from encoders.training.discourse.document import DocumentEncoder, TargetDocument, document_loss
from encoders.training.discourse.sentences import SentenceTower
from encoders.training.loop.gradients import Representation, Side

SENTENCES = "sentences"


@dataclass(frozen=True, slots=True)
class TokenDocument:
    """A document as its sentences' tokens, with their flags (t, 5), and what each tells, (t, e) for entity and aspect."""

    sentences: Sequence[Tokens]
    flags: Tensor
    entities: Tensor
    aspects: Tensor


class JointEncoder(nn.Module):
    """The two parts that are trained together; `tower` reads sentences, `documents` their sequence."""

    def __init__(self, tower: SentenceTower, documents: DocumentEncoder) -> None:
        super().__init__()
        self.tower = tower  # no module itself: its model is the next attribute
        self.sentences, self.documents = tower.model, documents


class JointLoss:
    """The loss of documents by their tokens; implements `encoders.training.loop.gradients.ComparingLoss`."""

    def __init__(self, model: JointEncoder) -> None:
        self._model = model

    def __call__(self, batch: Sequence[TokenDocument]) -> Tensor:
        """The loss of a batch, all of whose sentences are read at once."""
        found = {name: side.read(side.items) for name, side in self.sides(batch).items()}
        return self.compare(batch, found)

    def sides(self, batch: Sequence[TokenDocument]) -> dict[str, Side]:
        """The sentences of all documents, the longest first: a chunk has sentences of similar length."""
        every = [sentence for item in batch for sentence in item.sentences]
        return {SENTENCES: Side([every[place] for place in _by_length(every)], self._read)}

    def compare(self, batch: Sequence[TokenDocument], found: Mapping[str, Representation]) -> Tensor:
        """The document encoder's loss with the vectors of the sentences, in the order of `sides`."""
        (vectors,) = found[SENTENCES]
        order = torch.tensor(_by_length([sentence for item in batch for sentence in item.sentences]))
        placed = vectors[order.argsort().to(vectors.device)].split([len(item.sentences) for item in batch])
        documents = [
            TargetDocument(torch.cat([own, item.flags.to(own)], 1), item.entities, item.aspects)
            for item, own in zip(batch, placed, strict=True)
        ]
        return document_loss(self._model.documents, documents)

    def _read(self, sentences: Sequence[Tokens]) -> Representation:
        return (self._model.tower.read(sentences),)


def _by_length(sentences: Sequence[Tokens]) -> list[int]:
    """Places, the longest sentence first; ties keep their order."""
    return sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
