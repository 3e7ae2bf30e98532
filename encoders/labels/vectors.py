"""Trains fastText vectors on the corpora that labelling wrote, and writes the nearest neighbours of each word.

Only the neighbours are kept, as JSON Lines: augmentation needs nothing else. Needs the extra `train`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from encoders.labels.augment import NEIGHBOURS, SEED
from encoders.labels.pairs import read_pairs, read_texts
from encoders.labels.split import bucket
from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput, NotFound, Unavailable

_WORD: Final = re.compile(r"[a-z](?:[a-z'-]*[a-z])?")
_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class VectorTraining:
    """Skip-gram with subwords, on at most `words` words of text, of words that occur `least` times or more.

    The `vocabulary` most frequent words get up to `near` neighbours each, of cosine `similarity` or more.
    """

    words: int = 3_000_000
    dimension: int = 100
    epochs: int = 3
    least: int = 20
    vocabulary: int = 30_000
    near: int = 10
    similarity: float = 0.5
    seed: int = SEED


def write_neighbours(labels: Path, training: VectorTraining | None = None) -> dict[str, int]:
    """Train on `labels/corpora/*.jsonl` and training queries, and write `labels/neighbours.jsonl`.

    Returns the number of words of text and of the vocabulary. The same on every machine: one thread, one seed. Raises
    `NotFound` without corpora, `InvalidInput` if they are too small to train on, `Unavailable` without gensim.
    """
    training = training or VectorTraining()
    text = list(_sentences(labels, training.words))
    words, vectors = _train(text, training)
    path = labels / NEIGHBOURS
    partial = path.with_suffix(".partial")
    partial.write_bytes(
        b"".join(
            orjson.dumps({"word": word, "near": near}, option=orjson.OPT_APPEND_NEWLINE)
            for word, near in _neighbours(words, vectors, training)
        )
    )
    partial.replace(path)
    return {"words": sum(map(len, text)), "vocabulary": len(words)}


def _sentences(labels: Path, limit: int) -> Iterator[list[str]]:
    """Sentences as lowercase words, queries first, then all corpora mixed in the order of a hash, up to `limit` words."""
    files = sorted((labels / "corpora").glob("*.jsonl"))
    if not files:
        raise NotFound(
            f"{labels} contains no corpora/*.jsonl; `medley label pairs {labels}` writes them", field="labels"
        )
    texts = [f"{text.title}. {text.text}" for file in files for text in read_texts(file)]
    queries = [p.query for f in sorted((labels / "pairs").glob("*.jsonl")) for p in read_pairs(f) if p.split == "train"]
    count = 0
    for text in (*queries, *sorted(texts, key=lambda text: bucket(text[:200], 2**62))):
        for part in sentences(text):
            found = _WORD.findall(text[part.start : part.end].lower())
            count += len(found)
            if count > limit:
                return
            yield found


def _train(text: list[list[str]], training: VectorTraining) -> tuple[list[str], NDArray[np.float32]]:
    """The most frequent words and their unit vectors, shape (words, dimension)."""
    model = _fasttext()(
        vector_size=training.dimension,
        min_count=training.least,
        sg=1,
        bucket=100_000,
        workers=1,  # with more threads every run would give other vectors
        seed=training.seed,
    )
    model.build_vocab(text)
    if len(model.wv) < 2:
        raise InvalidInput(
            f"fewer than two words of the corpora occur {training.least} times: there is nothing to train on",
            field="labels",
        )
    model.train(text, total_examples=len(text), epochs=training.epochs)
    words = list(model.wv.index_to_key)[: training.vocabulary]  # most frequent first
    return words, np.asarray(model.wv.get_normed_vectors()[: len(words)], dtype=np.float32)


def _fasttext() -> Any:
    try:
        return importlib.import_module("gensim.models").FastText
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"vectors need a package that is missing ({error.name}): pip install -e '.[train]'", field="train"
        ) from error


def _neighbours(
    words: list[str], vectors: NDArray[np.float32], training: VectorTraining
) -> Iterator[tuple[str, list[str]]]:
    """Each word with its neighbours, nearest first, ties by frequency."""
    for start in range(0, len(words), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        for row, values in enumerate(cosines):
            values[start + row] = -1  # not its own neighbour
            best = np.argsort(-values, kind="stable")[: training.near]
            near = [words[at] for at in best if values[at] >= training.similarity]
            if near:
                yield words[start + row], near
