"""Trains the vectors of words: fastText's skip-gram with subwords, on the corpora that labelling wrote.

The same on every machine: one thread, one seed. Needs the extra `train`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from encoders.labels.pairs import read_pairs, read_texts
from encoders.labels.split import bucket
from encoders.words.vectors import WordVectors, split_words
from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput, NotFound, Unavailable

SEED: Final = 13


@dataclass(frozen=True, slots=True)
class VectorTraining:
    """Skip-gram with subwords, on at most `words` words of text, of words that occur `least` times or more.

    `buckets` is the number of vectors that all n-grams share, by a hash.
    """

    words: int = 3_000_000
    dimension: int = 100
    epochs: int = 3
    least: int = 20
    buckets: int = 100_000
    seed: int = SEED


def train_words(labels: Path, training: VectorTraining) -> tuple[WordVectors, int]:
    """Vectors trained on `labels/corpora/*.jsonl` and training queries, most frequent words first; the words of the text.

    Raises `NotFound` without corpora, `InvalidInput` if they are too small to train on, `Unavailable` without gensim.
    """
    text = list(_read_sentences(labels, training.words))
    model = _fasttext()(
        vector_size=training.dimension,
        min_count=training.least,
        sg=1,
        bucket=training.buckets,
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
    found = model.wv
    vectors = WordVectors(
        list(found.index_to_key),
        np.asarray(found.vectors, np.float16),
        np.asarray(found.vectors_ngrams, np.float16),
        (found.min_n, found.max_n),
    )
    return vectors, sum(map(len, text))


def _read_sentences(labels: Path, limit: int) -> Iterator[list[str]]:
    """Sentences as words, queries first, then all corpora mixed in the order of a hash, up to `limit` words."""
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
            found = split_words(text[part.start : part.end])
            count += len(found)
            if count > limit:
                return
            yield found


def _fasttext() -> Any:
    try:
        return importlib.import_module("gensim.models").FastText
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"vectors need a package that is missing ({error.name}): pip install -e '.[train]'", field="train"
        ) from error
