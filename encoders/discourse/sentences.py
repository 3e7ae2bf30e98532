"""Sentences to vectors, which the document encoder reads: the mean of their words, or what a transformer makes of them.

The first is equation 8 of Arnold et al. 2020, the second equation 9: their average embeddings, and their pooled transformer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from encoders.artifact import Artifact
from encoders.discourse.reading import MOST_WORDS
from encoders.pooling import Floats
from encoders.runtime import BiEncoder
from encoders.words.vectors import WordVectors

FORM: Final = "fp32"
"""The numeric form that serves. Form int8 reads each text in a run of its own, and sentences are short: it was slower."""


class SentenceEncoder(Protocol):
    """A vector for each sentence."""

    @property
    def dimension(self) -> int:
        """The number of values of a vector."""

    @property
    def spreads(self) -> bool:
        """Whether one call uses all threads, so that calls come one after the other."""

    def encode(self, sentences: Sequence[str]) -> Floats:
        """Shape (sentences, d), in input order."""


class AverageSentences:
    """The mean of the vectors of a sentence's words."""

    spreads = False

    def __init__(self, words: WordVectors) -> None:
        self._words = words
        self.dimension = words.dimension

    def encode(self, sentences: Sequence[str]) -> Floats:
        """Shape (sentences, d); zeros for a sentence without a word."""
        return self._words.mean(sentences, MOST_WORDS)


class PooledSentences:
    """The pooled hidden states of a transformer that reads each sentence alone."""

    spreads = True

    def __init__(self, artifact: Artifact, threads: int) -> None:
        """Raises `ModelError` for a model that is no bi-encoder."""
        self._model = BiEncoder(artifact, threads, FORM)
        self.dimension = artifact.dimension

    def encode(self, sentences: Sequence[str]) -> Floats:
        """Shape (sentences, d); a sentence beyond the length of the model is cut."""
        return self._model.encode_passages(sentences)


def open_sentences(artifact: Artifact | None, words: WordVectors, threads: int) -> SentenceEncoder:
    """The encoder of sentences of a discourse model: the transformer, if it has one. Raises `ModelError`."""
    return AverageSentences(words) if artifact is None else PooledSentences(artifact, threads)
