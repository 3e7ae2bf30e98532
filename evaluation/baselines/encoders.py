"""Exported bi-encoders and poly-encoders on texts of a task, of which those that read surroundings get whole documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from encoders.artifact import MANIFEST, Artifact
from encoders.poly import PolyEncoder
from encoders.pooling import Floats
from encoders.training.run_folder import REPORT
from evaluation.stages import Progress
from search.models.registry import Models

ENCODING: Final = ("bi-encoder", "poly-encoder")
AROUND: Final = "surroundings"
AT_ONCE: Final = 256
"""Passages that are encoded between two steps of the progress."""


def find_ways_of_reading(folder: Path) -> dict[str, str]:
    """How each bi-encoder and poly-encoder in a folder, a run or a model directory, reads windows, by its name there.

    The ways are those of `encoders.artifact.Reading`.
    """
    found = {}
    for child in sorted(item for item in folder.iterdir() if item.is_dir()):
        recipe = _read_object(child / REPORT).get("recipe")
        read = recipe if isinstance(recipe, dict) else {}
        if (child / MANIFEST).is_file():
            artifact = Artifact.open(child)
            read = {"kind": artifact.kind, "windows": artifact.reading.windows}
        if read.get("kind") in ENCODING:
            found[child.name] = str(read.get("windows", "separate"))
    return found


def compare_exported(
    models: Models,
    place: Path,
    queries: Sequence[str],
    texts: Sequence[str],
    wanted: NDArray[np.bool_],
    progress: Progress | None = None,
) -> Floats:
    """The scores of b queries with m texts by the model in a directory, shape (b, m); -inf where none is `wanted`.

    Each text that is wanted is read once, however many queries want it; `models` keeps the vectors of a bi-encoder on disk, so
    that an interrupted evaluation goes on. Raises `ModelError`.
    """
    artifact, path = Artifact.open(place), str(place.absolute())
    scores = np.full(wanted.shape, -np.inf, np.float32)
    columns = np.flatnonzero(wanted.any(axis=0))
    score = _vectors(models, path, queries) if artifact.kind == "bi-encoder" else _tokens(models, artifact, queries)
    for start in range(0, len(columns), AT_ONCE):
        part = columns[start : start + AT_ONCE]
        scores[:, part] = np.where(wanted[:, part], score([texts[at] for at in part], wanted[:, part]), -np.inf)
        if progress:
            progress(start + len(part), len(columns))
    return scores


def _vectors(models: Models, path: str, queries: Sequence[str]) -> Any:
    encoder = models.encoder(path)
    asked = encoder.encode_queries(queries)
    return lambda texts, wanted: asked @ encoder.encode_passages(texts).T


def _tokens(models: Models, artifact: Artifact, queries: Sequence[str]) -> Any:
    """A poly-encoder reads all texts of a part, and scores them from what an index stores of them."""
    settings = models.settings
    poly = PolyEncoder(artifact, settings.threads or None, settings.form or None, settings.device)
    asked = poly.encode_queries(queries)

    def score(texts: Sequence[str], wanted: NDArray[np.bool_]) -> Floats:
        found, stored = np.zeros(wanted.shape, np.float32), poly.compress_passages(texts)
        for row in map(int, np.flatnonzero(wanted.any(axis=1))):
            columns = np.flatnonzero(wanted[row])
            found[row, columns] = poly.score_compressed(asked[row], [stored[column] for column in columns])
        return found

    return score


def _read_object(path: Path) -> dict[str, Any]:
    """A JSON object, empty where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
