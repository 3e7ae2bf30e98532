"""Writes the nearest neighbours of each word, by fastText vectors of the corpora that labelling wrote.

Only the neighbours are kept, as JSON Lines: augmentation needs nothing else. Needs the extra `train`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from encoders.labels.augment import NEIGHBOURS
from encoders.words.fasttext import VectorTraining, train_words

_PLAIN: Final = re.compile(r"[a-z](?:[a-z'-]*[a-z])?")
"""A word without digits: a number is no variant of another."""
_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The `vocabulary` most frequent words get up to `near` neighbours each, of cosine `similarity` or more."""

    vocabulary: int = 30_000
    near: int = 10
    similarity: float = 0.5


def write_neighbours(
    labels: Path, training: VectorTraining | None = None, wanted: Neighbourhood | None = None
) -> dict[str, int]:
    """Train on `labels/corpora/*.jsonl` and training queries, and write `labels/neighbours.jsonl`.

    Returns the number of words of text and of the vocabulary. The same on every machine. Raises as `train_words` does.
    """
    wanted = wanted or Neighbourhood()
    vectors, count = train_words(labels, training or VectorTraining())
    words = [word for word in vectors.words if _PLAIN.fullmatch(word)][: wanted.vocabulary]
    found = vectors.lookup(words)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    path = labels / NEIGHBOURS
    partial = path.with_suffix(".partial")
    partial.write_bytes(
        b"".join(
            orjson.dumps({"word": word, "near": near}, option=orjson.OPT_APPEND_NEWLINE)
            for word, near in _neighbours(words, found, wanted)
        )
    )
    partial.replace(path)
    return {"words": count, "vocabulary": len(words)}


def _neighbours(
    words: list[str], vectors: NDArray[np.float32], wanted: Neighbourhood
) -> Iterator[tuple[str, list[str]]]:
    """Each word with its neighbours, nearest first, ties by frequency."""
    for start in range(0, len(words), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        for row, values in enumerate(cosines):
            values[start + row] = -1  # not its own neighbour
            best = np.argsort(-values, kind="stable")[: wanted.near]
            near = [words[at] for at in best if values[at] >= wanted.similarity]
            if near:
                yield words[start + row], near
