"""What a cross-encoder says of every example, found once before the training of its student.

The scores lie in the run's folder, one record a (query, text): the file grows as they are found, so that a run that
was killed goes on, and it is named by the teacher's fingerprint, so that another teacher starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoders.artifact import Artifact
from encoders.runtime import CrossEncoder
from encoders.training.bases import base_folder, is_artifact
from encoders.training.data import Example
from encoders.training.recipe import Recipe
from mappings.errors import ModelError

RECORD = np.dtype([("key", "S32"), ("score", "<f4")])
QUERIES_AT_ONCE = 32


class Teacher:
    """Scores by (query, text)."""

    def __init__(self, found: Mapping[bytes, float]) -> None:
        self._found = found

    def scores(self, batch: Sequence[Example]) -> Tensor:
        """The teacher's logits of each query's candidates, (b, 1 + k)."""
        return torch.tensor([[self._found[key(item.query, text)] for text in item.texts] for item in batch])


def key(query: str, text: str) -> bytes:
    """The name of a (query, text) in the file: 32 hexadecimal digits."""
    return hashlib.blake2b(f"{query}\0{text}".encode(errors="replace"), digest_size=16).hexdigest().encode()


def teach(
    recipe: Recipe, batches: Iterable[Sequence[Example]], run: Path, log: Callable[[dict[str, Any]], None]
) -> Teacher | None:
    """The recipe's teacher, asked about every example of the plan; None where the recipe has none.

    Raises `ModelError` for a teacher that is no cross-encoder's model directory.
    """
    if not recipe.teacher:
        return None
    artifact = _artifact(recipe.teacher)
    path = run / f"teacher-{artifact.fingerprint[:12]}-{recipe.teacher_form}.bin"
    found = _read(path)
    missing = _missing(batches, found)
    if missing:
        judge = CrossEncoder(artifact, recipe.threads, recipe.teacher_form)
        _ask(judge, missing, path, found, log)
    return Teacher(found)


def _artifact(name: str) -> Artifact:
    if not is_artifact(name):
        raise ModelError(f"the teacher {name!r} is no model directory; export it first", field="teacher")
    artifact = Artifact.open(Path(base_folder(name)))
    if artifact.kind != "cross-encoder":
        raise ModelError(f"the teacher {name!r} is a {artifact.kind}; it must be a cross-encoder", field="teacher")
    return artifact


def _missing(batches: Iterable[Sequence[Example]], found: Mapping[bytes, float]) -> dict[str, dict[bytes, str]]:
    """Query -> key -> text, for what has no score yet."""
    missing: dict[str, dict[bytes, str]] = {}
    for batch in batches:
        for item in batch:
            texts = {name: text for text in item.texts if (name := key(item.query, text)) not in found}
            if texts:
                missing.setdefault(item.query, {}).update(texts)
    return missing


def _ask(
    judge: CrossEncoder,
    missing: Mapping[str, Mapping[bytes, str]],
    path: Path,
    found: dict[bytes, float],
    log: Callable[[dict[str, Any]], None],
) -> None:
    rows = iter(missing.items())
    done = 0
    while group := list(islice(rows, QUERIES_AT_ONCE)):
        names = [name for _, texts in group for name in texts]
        tokens = [item for query, texts in group for item in judge.model.reader.pairs(query, list(texts.values()))]
        scores = judge.logits(tokens)
        with path.open("ab") as file:
            file.write(np.array(list(zip(names, scores, strict=True)), dtype=RECORD).tobytes())
        found.update(zip(names, map(float, scores), strict=True))
        done += len(group)
        log({"teacher": f"{judge.fingerprint[:12]} {judge.form}", "queries": done, "of": len(missing)})


def _read(path: Path) -> dict[bytes, float]:
    """The scores found so far; a record that a kill cut in two is left out, and what follows starts in its place."""
    if not path.is_file():
        return {}
    whole = path.stat().st_size // RECORD.itemsize * RECORD.itemsize
    with path.open("r+b") as file:
        file.truncate(whole)
    records = np.fromfile(path, dtype=RECORD)
    return dict(zip(records["key"].tolist(), records["score"].astype(float).tolist(), strict=True))
