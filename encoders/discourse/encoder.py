"""Contextual discourse vectors (CDV, Arnold et al. 2020): a sentence's vector tells its entity and aspect in its document.

A query is the vector of an entity beside that of an aspect (equation 7). A document is read once, sentence by sentence;
each sentence has a decoded vector in the same space (equations 11 and 12). The score of a sentence is the cosine of both
(13), that of a passage the mean over its sentences (14). The mean of unit vectors, by inner product with the query's unit
vector, is exactly that, so one vector a passage is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from encoders.discourse.artifact import ASPECTS, DOCUMENTS, ENTITIES, NAMES, WORDS, DiscourseArtifact
from encoders.discourse.reading import FLAGS, SentenceSequence, read_sentences
from encoders.discourse.sentences import open_sentences
from encoders.discourse.slots import entity_key, split_aspect
from encoders.onnx import ort
from encoders.pooling import unit
from encoders.words.vectors import WordVectors, split_words
from mappings.errors import ModelError

Floats = NDArray[np.float32]
MOST_NAME_WORDS: Final = 32
BATCH_SENTENCES: Final = 2_048
"""Documents of similar length are read together, so many sentences with their padding."""


@dataclass(frozen=True, slots=True)
class DiscourseDocument:
    """A document's sentences with their unit vectors, shape (sentences, `dimension`): entity beside aspect."""

    read: SentenceSequence
    vectors: Floats

    def passage_vectors(self, passages: int) -> Floats:
        """The mean of each passage's unit sentence vectors, shape (passages, `dimension`); zeros for one that was not read."""
        found = np.zeros((passages, self.vectors.shape[1]), np.float32)
        numbers = np.asarray(self.read.passages, np.int64)
        for passage in np.unique(numbers):
            found[passage] = self.vectors[numbers == passage].mean(0)
        return found


class DiscourseEncoder:
    """An opened discourse model: vectors of `dimension` numbers, `slot_dimension` for each slot. Threads can share it."""

    def __init__(self, artifact: DiscourseArtifact, threads: int = 2) -> None:
        """Raises `ModelError` if the words, or the sentences, have another dimension than the graphs."""
        self.name, self.fingerprint = artifact.name, artifact.fingerprint
        self.slot_dimension = artifact.dimension
        self.dimension = 2 * artifact.dimension
        self.words = WordVectors.load(artifact.folder / WORDS)
        self._entities, self._aspects, self._documents = (
            _open(artifact.folder / name) for name in (ENTITIES, ASPECTS, DOCUMENTS)
        )
        expected = int(self._entities.get_inputs()[0].shape[2])
        if self.words.dimension != expected:
            message = f"{artifact.folder / WORDS} has {self.words.dimension} dimensions; the graphs read {expected}"
            raise ModelError(message, field="words")
        self._known = _read_names(artifact.folder / NAMES)
        self._sentences = open_sentences(artifact.sentences, self.words, threads)
        read = int(self._documents.get_inputs()[0].shape[2]) - len(FLAGS)
        if self._sentences.dimension != read:
            message = f"{artifact.folder / DOCUMENTS} reads sentences of {read} dimensions; theirs have {self._sentences.dimension}"
            raise ModelError(message, field="sentences")
        self._threads = 1 if self._sentences.spreads else threads

    @classmethod
    def open(cls, folder: Path, threads: int = 2) -> DiscourseEncoder:
        """The model in a directory, verified. Raises `ModelError`."""
        return cls(DiscourseArtifact.open(folder), threads)

    def encode_query(self, entity: str, aspect: str) -> Floats:
        """The unit vector of a query, shape (`dimension`,); an empty slot has zeros."""
        found = np.zeros(self.dimension, np.float32)
        if entity_key(entity):
            found[: self.slot_dimension] = self.encode_entity(entity)
        if parts := split_aspect(aspect):
            found[self.slot_dimension :] = self._encode_names(self._aspects, parts).mean(0)
        length = float(np.linalg.norm(found))
        return (found / length).astype(np.float32) if length else found

    def encode_entity(self, name: str) -> Floats:
        """Shape (`slot_dimension`,): the mean over what describes the entity or, unknown, that of its mention (equation 5)."""
        known = self._known.get(entity_key(name))
        return known if known is not None else self._encode_names(self._entities, [name])[0]

    def encode_documents(self, documents: Sequence[Sequence[str]]) -> list[DiscourseDocument]:
        """Each document, a sequence of passages, read once as a whole."""
        read = [read_sentences(passages) for passages in documents]
        found: list[Floats] = [np.zeros((0, self.dimension), np.float32)] * len(read)

        def run(rows: Sequence[int]) -> None:
            inputs, lengths = self._inputs([read[row] for row in rows])
            (vectors,) = self._documents.run(None, {"sentences": inputs, "lengths": lengths})
            for place, row in enumerate(rows):
                found[row] = unit(vectors[: lengths[place], place])

        groups = _group([len(item.sentences) for item in read])
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(run, groups))
        return [DiscourseDocument(item, vectors) for item, vectors in zip(read, found, strict=True)]

    def _inputs(self, documents: Sequence[SentenceSequence]) -> tuple[Floats, NDArray[np.int32]]:
        """Sentence vectors with their flags, shape (sentences, documents, d + 5), and the documents' lengths."""
        lengths = np.asarray([len(item.sentences) for item in documents], np.int32)
        vectors = self._sentences.encode([sentence for item in documents for sentence in item.sentences])
        width = vectors.shape[1] + len(FLAGS)
        inputs = np.zeros((int(lengths.max()), len(documents), width), np.float32)
        for place, (item, own) in enumerate(zip(documents, np.split(vectors, np.cumsum(lengths)[:-1]), strict=True)):
            inputs[: lengths[place], place] = np.concatenate([own, item.flags], axis=1)
        return inputs, lengths

    def _encode_names(self, session: Any, names: Sequence[str]) -> Floats:
        """The vector of each name, shape (names, d)."""
        rows = [self.words.lookup(split_words(name)[:MOST_NAME_WORDS]) for name in names]
        lengths = np.asarray([max(1, len(row)) for row in rows], np.int32)
        inputs = np.zeros((int(lengths.max()), len(rows), self.words.dimension), np.float32)
        for place, row in enumerate(rows):
            inputs[: len(row), place] = row
        found: Floats = session.run(None, {"words": inputs, "lengths": lengths})[0]
        return found


def write_names(path: Path, names: Sequence[str], vectors: Floats) -> None:
    """Write the known entities: keys and vectors, shape (names, d)."""
    np.savez(path, names=np.frombuffer("\n".join(names).encode(), np.uint8), vectors=vectors.astype(np.float32))


def _read_names(path: Path) -> dict[str, Floats]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        names = found["names"].tobytes().decode()
        return dict(zip(names.split("\n"), found["vectors"], strict=True)) if names else {}


def _open(path: Path) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # a call spreads its documents over threads
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises classes of its own for each fault of a graph
        raise ModelError(f"{path} can't be opened: {error}", field=str(path)) from None


def _group(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of similar length together, `BATCH_SENTENCES` at most with padding; none of an empty document."""
    order = iter(sorted((row for row, length in enumerate(lengths) if length), key=lambda row: -lengths[row]))
    groups = []
    while first := list(islice(order, 1)):
        groups.append([*first, *islice(order, max(0, BATCH_SENTENCES // lengths[first[0]] - 1))])
    return groups
