"""Embeddings of names (CDV, Arnold et al. 2020, sections 3.1 and 3.2): entities by what describes them, aspects by headings.

A BLSTM over word vectors predicts the id of a name as a Bloom filter (Serra and Karatzoglou 2017), with the loss BPMLL
(Zhang and Zhou 2006, equation 3). The embedding is the mean of the last state forward and the first one backward
(equations 3 and 4 of CDV).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import torch
from torch import Tensor, nn

from encoders.discourse.encoder import MOST_NAME_WORDS, Floats
from encoders.pooling import unit
from encoders.training.discourse.recipe import DiscourseRecipe
from encoders.words.vectors import WordVectors, split_words

BATCH: int = 512
"""Names embedded at once, after training."""


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text with the name that it describes: a mention of it, a synonym, a sentence of its description, a heading."""

    name: str
    text: str


class WordMean(nn.Module):
    """Texts of words, shape (b, n, d), to the means of their words, (b, d). It learns nothing, so it knows every name alike."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dimension = width

    def embed(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Shape (b, d); `words` is zero where a text has ended."""
        return words.sum(1) / lengths[:, None].to(words)


class NameEncoder(nn.Module):
    """Texts of words, shape (b, n, d), to embeddings (b, e) and, in training, to the bits of their names (b, bits)."""

    def __init__(self, recipe: DiscourseRecipe, width: int) -> None:
        super().__init__()
        self.dimension = recipe.dimension
        self.lstm = nn.LSTM(width, recipe.dimension, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(recipe.name_dropout)
        self.bits = nn.Linear(recipe.dimension, recipe.name_bits)

    def embed(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Shape (b, e)."""
        packed = nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        mean: Tensor = last.mean(0)  # of the last state forward and, read backward, the first
        return mean

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Each bit between 0 and 1."""
        return torch.sigmoid(self.bits(self.dropout(self.embed(words, lengths))))


def bloom(name: str, bits: int, hashes: int) -> Floats:
    """The Bloom filter of a name, shape (bits,): ones at the places that `hashes` hash functions give."""
    found = np.zeros(bits, np.float32)
    for number in range(hashes):
        found[int.from_bytes(sha256(f"{number}:{name}".encode()).digest()[:8], "big") % bits] = 1
    return found


def bpmll(outputs: Tensor, wanted: Tensor) -> Tensor:
    """The mean over pairs of a set and an unset bit of exp(-(set - unset)), then over rows. Both have the shape (b, bits)."""
    present, absent = wanted, 1 - wanted
    kept = (torch.exp(-outputs) * present).sum(1)
    wrong = (torch.exp(outputs) * absent).sum(1)
    return (kept * wrong / (present.sum(1) * absent.sum(1))).mean()


@dataclass(frozen=True, slots=True)
class NameSpace:
    """The vectors of names after training, by name, shape (e,) each; `centre` is what was taken from them, None: nothing."""

    vectors: Mapping[str, Floats]
    centre: Floats | None

    @classmethod
    def of(cls, texts: Sequence[NamedText], embedded: Floats, centred: bool) -> NameSpace:
        """The mean over all texts of a name (equations 5 and 6), centred and of unit length if that is wanted."""
        places: dict[str, list[int]] = {}
        for place, item in enumerate(texts):
            places.setdefault(item.name, []).append(place)
        means = {name: embedded[found].mean(0) for name, found in places.items()}
        if not centred:
            return cls(means, None)
        centre = np.mean(list(means.values()), axis=0)
        return cls({name: unit((vector - centre)[None])[0] for name, vector in means.items()}, centre)


def plan_names(texts: Sequence[NamedText], recipe: DiscourseRecipe) -> list[list[NamedText]]:
    """The batches of all epochs, decided before the first step."""
    batches = []
    for epoch in range(recipe.epochs):
        draw = random.Random(f"{recipe.seed}:names:{epoch}")  # noqa: S311 - reproducible, not secret
        mixed = draw.sample(texts, len(texts))
        batches += [mixed[start : start + recipe.batch] for start in range(0, len(mixed), recipe.batch)]
    return batches


def name_loss(model: NameEncoder, words: WordVectors, recipe: DiscourseRecipe, batch: Sequence[NamedText]) -> Tensor:
    """BPMLL of a batch."""
    wanted = np.stack([bloom(item.name, recipe.name_bits, recipe.name_hashes) for item in batch])
    device = next(model.parameters()).device
    inputs, lengths = pad_words(words, [item.text for item in batch])
    return bpmll(model(inputs.to(device), lengths), torch.from_numpy(wanted).to(device))


@torch.no_grad()
def embed_texts(model: NameEncoder | WordMean, words: WordVectors, texts: Sequence[str]) -> Floats:
    """The embedding of each text, shape (texts, e)."""
    model.eval()
    device = next((weight.device for weight in model.parameters()), "cpu")
    found = [np.zeros((0, model.dimension), np.float32)]
    for start in range(0, len(texts), BATCH):
        inputs, lengths = pad_words(words, texts[start : start + BATCH])
        found.append(model.embed(inputs.to(device), lengths).cpu().numpy())
    return np.concatenate(found)


def pad_words(words: WordVectors, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """The vectors of each text's first words, shape (texts, n, d), and their numbers; a text without a word has one of zeros."""
    rows = [words.lookup(split_words(text)[:MOST_NAME_WORDS]) for text in texts]
    lengths = [max(1, len(row)) for row in rows]
    inputs = np.zeros((len(rows), max(lengths), words.dimension), np.float32)
    for place, row in enumerate(rows):
        inputs[place, : len(row)] = row
    return torch.from_numpy(inputs), torch.tensor(lengths)
