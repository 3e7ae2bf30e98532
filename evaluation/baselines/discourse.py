"""CDV on the very candidates of a task: each passage is read in its whole document, and asked by entity and aspect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoders.discourse.artifact import MANIFEST, MODEL, DiscourseArtifact
from encoders.discourse.encoder import DiscourseEncoder
from evaluation.measures import Run, ordered
from evaluation.task import Task
from mappings.errors import InvalidInput


def find_discourse(folder: Path) -> dict[str, Path]:
    """The discourse models in a folder, or in the runs in it, by the name of their subfolder."""
    found = {}
    for child in sorted(item for item in folder.iterdir() if item.is_dir()):
        for place in (child, child / MODEL):
            if (place / MANIFEST).is_file():
                found[child.name] = place
    return found


def describe_discourse(folder: Path) -> dict[str, str]:
    """The fingerprint of each discourse model in a folder, by name. Raises `ModelError` for a damaged one."""
    return {name: DiscourseArtifact.open(place).fingerprint for name, place in find_discourse(folder).items()}


def check_documents(task: Task, folder: Path) -> None:
    """Raises `InvalidInput` for a folder with discourse models where the task does not tell whole documents."""
    names = find_discourse(folder)
    if names and not task.whole:
        message = (
            f"{', '.join(names)} can't rank here: a discourse model reads a passage in its document, and the suite "
            f"{task.suite} does not tell in which one it stands"
        )
        raise InvalidInput(message, field="systems")


def rank_discourse(task: Task, folder: Path, chosen: Mapping[str, Collection[str]]) -> Iterator[tuple[str, Run]]:
    """(name, question → passage ids, best first) of each model in `folder`, among the `chosen` of a question.

    Equal scores are ordered by id; passages that are not read, since their document is long or none is told, come last.
    Raises as `check_documents` does, and `ModelError`.
    """
    check_documents(task, folder)
    for name, place in find_discourse(folder).items():
        encoder = DiscourseEncoder.open(place)
        vectors = _read_passages(encoder, task.whole)
        found = {}
        for question in task.questions:
            query = encoder.encode_query(question.entity, question.aspect)
            read = {key: vectors.get(key) for key in chosen[question.id]}
            scores = {key: -inf if own is None or not own.any() else float(own @ query) for key, own in read.items()}
            found[question.id] = ordered(scores)
        yield name, found


def _read_passages(encoder: DiscourseEncoder, documents: Sequence[Mapping[str, str]]) -> dict[str, NDArray[np.float32]]:
    """The vector of each passage by id; each document is its passages by id, in order."""
    read = encoder.encode_documents([list(document.values()) for document in documents])
    return {
        key: vector
        for document, item in zip(documents, read, strict=True)
        for key, vector in zip(document, item.passage_vectors(len(document)), strict=True)
    }
