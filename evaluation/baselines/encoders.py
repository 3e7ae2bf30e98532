"""Exported bi-encoders and poly-encoders on the very candidates of a task, those that read surroundings in whole documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from encoders.artifact import MANIFEST, Artifact
from encoders.cache import CachedEncoder
from encoders.poly import PolyEncoder
from encoders.pooling import Floats
from encoders.runtime import BiEncoder
from encoders.training.run_folder import REPORT
from evaluation.measures import Run, ordered
from evaluation.stages import Progress
from evaluation.task import Task
from mappings.analysis.window_text import place_in_document
from mappings.errors import InvalidInput

MODEL: Final = "model"
"""The folder of a run that its exported model is in, where there is one."""
KINDS: Final = ("bi-encoder", "poly-encoder")
AT_ONCE: Final = 64
Scorer = Callable[[str, Sequence[str]], Floats]
"""(query, keys of passages) -> their scores, shape (n,)."""


def find_encoders(folder: Path) -> dict[str, Path]:
    """The model directories of bi-encoders and poly-encoders in a folder, or in the runs in it, by the name of their subfolder."""
    found = {}
    for child in sorted(item for item in folder.iterdir() if item.is_dir()):
        for place in (child, child / MODEL):
            if (place / MANIFEST).is_file() and _read_json(place / MANIFEST).get("kind", KINDS[0]) in KINDS:
                found[child.name] = place
    return found


def describe_encoders(folder: Path) -> dict[str, str]:
    """The fingerprint of each model in a folder, by name. Raises `ModelError` for a damaged one."""
    return {name: Artifact.open(place).fingerprint for name, place in find_encoders(folder).items()}


def find_ways_of_reading(folder: Path) -> dict[str, str]:
    """How each bi-encoder and poly-encoder in a folder reads windows (`encoders.artifact.Reading`), exported or not, by name."""
    found = {}
    for child in sorted(item for item in folder.iterdir() if item.is_dir()):
        recipe = _read_json(child / REPORT).get("recipe")
        if isinstance(recipe, dict) and recipe.get("kind") in KINDS:
            found[child.name] = str(recipe.get("windows", "separate"))
    places = find_encoders(folder)
    return found | {name: Artifact.open(place).reading.windows for name, place in places.items()}


def rank_encoders(
    task: Task,
    folder: Path,
    chosen: Mapping[str, Collection[str]],
    vectors: Path,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Run]]:
    """(name, question → document ids, best first) of each model in `folder`, among the `chosen` of a question.

    A model that reads surroundings is shown each passage among those of its document, another one the passage alone. Vectors
    are kept in the folder `vectors`, so that an interrupted evaluation goes on. Equal scores are ordered by id. Raises
    `ModelError`, and `InvalidInput` for a task that does not tell whole documents.
    """
    keys = sorted({key for question in task.questions for key in chosen[question.id]})
    for name, place in find_encoders(folder).items():
        artifact = Artifact.open(place)
        texts = placed_texts(task) if artifact.reading.windows == "surroundings" else _texts(task)
        score = _open(artifact, keys, [texts[key] for key in keys], vectors)
        found = {}
        for number, question in enumerate(task.questions, 1):
            own = sorted(chosen[question.id])
            found[question.id] = ordered(dict(zip(own, map(float, score(question.words, own)), strict=True)))
            if progress:
                progress(number, len(task.questions))
        yield name, found


def placed_texts(task: Task) -> dict[str, str]:
    """Each passage among those of its document; one that is in no whole document stands alone. Raises `InvalidInput`."""
    if not task.whole:
        raise InvalidInput(f"the suite {task.suite} does not tell in which document a passage stands", field="task")
    found = _texts(task)
    for document in task.whole:
        found.update(zip(document, place_in_document(list(document.values())), strict=True))
    return found


def _texts(task: Task) -> dict[str, str]:
    return {
        document.id: " ".join([document.title, *(item.text for item in document.sections)]).strip()
        for document in task.corpus.documents()
    }


def _open(artifact: Artifact, keys: Sequence[str], texts: Sequence[str], vectors: Path) -> Scorer:
    """What scores the passages `keys`, all of them read."""
    row = {key: number for number, key in enumerate(keys)}
    if artifact.kind == "bi-encoder":
        encoder = CachedEncoder(BiEncoder(artifact), vectors)
        rows = encoder.encode_passages(texts)
        return lambda query, own: np.asarray(rows[[row[key] for key in own]] @ encoder.encode_queries([query])[0])
    poly = PolyEncoder(artifact)
    tokens = [
        item.astype(np.float16)  # half of the memory, as a reranker keeps them
        for start in range(0, len(texts), AT_ONCE)
        for item in poly.encode_passages(texts[start : start + AT_ONCE])
    ]
    return lambda query, own: poly.score(poly.encode_query(query), [tokens[row[key]].astype(np.float32) for key in own])


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object, empty where there is none: of a manifest, `Artifact.open` says what is wrong with it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
