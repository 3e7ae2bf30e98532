"""Write the directory of a discourse model that serves, with the transformer that reads sentences if it has one."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from encoders.ancestry.record import Ancestry
from encoders.artifact import Artifact
from encoders.discourse.artifact import (
    ASPECTS,
    DOCUMENTS,
    ENTITIES,
    NAMES,
    SENTENCES,
    WORDS,
    DiscourseArtifact,
    seal_discourse,
)
from encoders.discourse.encoder import write_names
from encoders.training.architectures.checkpoint import load_checkpoint, save_checkpoint
from encoders.training.discourse.document import DocumentEncoder
from encoders.training.discourse.graphs import write_document_graph, write_name_graph
from encoders.training.discourse.names import NameEncoder, NameSpace, WordMean
from encoders.training.discourse.sentences import SentenceTower
from encoders.training.export.gate import MIN_PAIRS
from encoders.training.export.writer import write_artifact
from encoders.words.vectors import WordVectors
from mappings.errors import InvalidInput

GATE_SENTENCES: Final = 192
"""So many sentences are encoded by torch and by the exported graphs, and compared."""


@dataclass(frozen=True, slots=True)
class DiscourseParts:
    """What was trained: the embeddings of names with the vectors of the known ones, the document encoder, the vectors of words."""

    entities: NameEncoder | WordMean
    aspects: NameEncoder | WordMean
    spaces: tuple[NameSpace, NameSpace]
    documents: DocumentEncoder
    words: WordVectors


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """The transformer that reads sentences, as it is exported: `card` and `ancestry` describe it, the gate compares `sentences`."""

    tower: SentenceTower
    card: Mapping[str, Any]
    ancestry: Ancestry
    sentences: Sequence[str]


def write_folder(
    folder: Path, name: str, card: Mapping[str, Any], parts: DiscourseParts, sentences: SentenceModel | None
) -> DiscourseArtifact:
    """Write the directory, which is verified. Raises `ModelError` if the gate refuses the transformer."""
    folder.mkdir(exist_ok=True)
    parts.words.save(folder / WORDS)
    known = parts.spaces[0].vectors
    write_names(folder / NAMES, list(known), np.stack(list(known.values())))
    for model, space, file in zip((parts.entities, parts.aspects), parts.spaces, (ENTITIES, ASPECTS), strict=True):
        write_name_graph(model, space.centre, folder / file)
    write_document_graph(parts.documents, folder / DOCUMENTS)
    exported = _export(folder / SENTENCES, sentences) if sentences else None
    return seal_discourse(folder, name, parts.entities.dimension, card, exported)


def choose_gate_sentences(preferred: Sequence[str], others: Sequence[str], seed: int) -> list[str]:
    """Distinct sentences for the gate: `preferred` ones, those of held-out documents, and `others` if these are few.

    Raises `InvalidInput` if there are too few for any comparison.
    """
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    found: list[str] = []
    for texts in (preferred, others):
        fresh = [text for text in dict.fromkeys(texts) if text not in set(found)]
        found += draw.sample(fresh, min(len(fresh), GATE_SENTENCES - len(found)))
    if len(found) < MIN_PAIRS:
        message = (
            f"the documents have {len(found)} different sentences; the export of a transformer compares {MIN_PAIRS}"
        )
        raise InvalidInput(message, field="documents")
    return found


def _export(folder: Path, sentences: SentenceModel) -> Artifact:
    """The model directory of the transformer, in the numeric forms that pass the gate."""
    tower = sentences.tower
    pairs = list(zip(sentences.sentences, (*sentences.sentences[1:], sentences.sentences[0]), strict=True))
    with tempfile.TemporaryDirectory(prefix=".sentences.", dir=folder.parent) as scratch:
        # Loading it again gives it the attention that can be exported.
        save_checkpoint(tower.model, tower.ready.tokenizer, Path(scratch), tower.ready.architecture)
        loaded = load_checkpoint(scratch, "bi-encoder")
        artifact = write_artifact(loaded, "bi-encoder", folder, sentences.card, pairs, tower.reading)
    sentences.ancestry.write(folder, artifact.fingerprint)
    return artifact
