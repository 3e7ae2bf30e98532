"""Our own fastText vectors of the corpora that labelling wrote, and of each word its nearest neighbours.

What is kept is the neighbours, as JSON lines: all that augmentation asks for. Needs the extra `train`.
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
class Training:
    """Skip-gram with subwords: `words` of text at most, `vocabulary` most frequent words, `near` neighbours each.

    A neighbour's cosine is at least `similarity`.
    """

    words: int = 3_000_000
    dimension: int = 100
    epochs: int = 3
    least: int = 20
    vocabulary: int = 30_000
    near: int = 10
    similarity: float = 0.5
    seed: int = SEED


def write_neighbours(labels: Path, training: Training | None = None) -> dict[str, int]:
    """Train on `labels/corpora/*.jsonl` and training queries, write `labels/neighbours.jsonl`; how many words it has.

    The same on every machine: one thread, one seed. Raises `NotFound` without corpora, `InvalidInput` where they are
    too small to train on, `Unavailable` without gensim.
    """
    training = training or Training()
    text = list(_sentences(labels, training.words))
    words, vectors = _trained(text, training)
    path = labels / NEIGHBOURS
    aside = path.with_suffix(".partial")
    aside.write_bytes(
        b"".join(
            orjson.dumps({"word": word, "near": near}, option=orjson.OPT_APPEND_NEWLINE)
            for word, near in _neighbours(words, vectors, training)
        )
    )
    aside.replace(path)
    return {"words": sum(map(len, text)), "vocabulary": len(words)}


def _sentences(labels: Path, limit: int) -> Iterator[list[str]]:
    """Sentences as words in small letters, every corpus by turns in the order of a hash, up to `limit` words."""
    files = sorted((labels / "corpora").glob("*.jsonl"))
    if not files:
        raise NotFound(f"{labels} holds no corpora/*.jsonl; `medley label pairs {labels}` writes them", field="labels")
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


def _trained(text: list[list[str]], training: Training) -> tuple[list[str], NDArray[np.float32]]:
    """The most frequent words and their unit vectors, shape (words, dimension)."""
    model = _fasttext()(
        vector_size=training.dimension,
        min_count=training.least,
        sg=1,
        bucket=100_000,
        workers=1,  # more threads would give other vectors at each run
        seed=training.seed,
    )
    model.build_vocab(text)
    if len(model.wv) < 2:
        raise InvalidInput(
            f"the corpora hold no two words that occur {training.least} times: nothing to train on", field="labels"
        )
    model.train(text, total_examples=len(text), epochs=training.epochs)
    words = list(model.wv.index_to_key)[: training.vocabulary]  # most frequent first
    return words, np.asarray(model.wv.get_normed_vectors()[: len(words)], dtype=np.float32)


def _fasttext() -> Any:
    try:
        return importlib.import_module("gensim.models").FastText
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"vectors need more packages ({error.name}): pip install -e '.[train]'", field="train"
        ) from error


def _neighbours(words: list[str], vectors: NDArray[np.float32], training: Training) -> Iterator[tuple[str, list[str]]]:
    """Each word with those of cosine `similarity` or more, nearest first, equals by frequency."""
    for start in range(0, len(words), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        for row, values in enumerate(cosines):
            values[start + row] = -1  # not its own neighbour
            best = np.argsort(-values, kind="stable")[: training.near]
            near = [words[at] for at in best if values[at] >= training.similarity]
            if near:
                yield words[start + row], near
