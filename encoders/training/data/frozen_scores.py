"""What a model that is not trained says of every example, found once before the first step.

The scores lie in the run's folder, one record a (query, text): the file grows as they are found, so that a run that
was killed goes on, and it is named by the model's fingerprint, so that another model starts anew.
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

from encoders.artifact import Artifact, Kind
from encoders.pooling import Floats
from encoders.training.data.batches import Example
from encoders.training.runs.initial import base_folder, is_artifact
from mappings.errors import ModelError

RECORD = np.dtype([("key", "S32"), ("score", "<f4")])
QUERIES_AT_ONCE = 32
Judge = Callable[[Sequence[tuple[str, Sequence[str]]]], Floats]
"""Some queries, each with its texts -> the scores of all the texts, one after the other."""


class Scores:
    """Scores by (query, text)."""

    def __init__(self, found: Mapping[bytes, float]) -> None:
        self._found = found

    def scores(self, batch: Sequence[Example]) -> Tensor:
        """The scores of each query's candidates, (b, 1 + k)."""
        return torch.tensor([[self._found[key(item.query, text)] for text in item.texts] for item in batch])


def key(query: str, text: str) -> bytes:
    """The name of a (query, text) in the file: 32 hexadecimal digits."""
    return hashlib.blake2b(f"{query}\0{text}".encode(errors="replace"), digest_size=16).hexdigest().encode()


def artifact(name: str, kind: Kind, role: str) -> Artifact:
    """The model directory that a recipe names as its `role`. Raises `ModelError` for anything but one of that kind."""
    if not is_artifact(name):
        raise ModelError(f"the {role} {name!r} is no model directory; export it first", field=role)
    found = Artifact.open(Path(base_folder(name)))
    if found.kind != kind:
        raise ModelError(f"the {role} {name!r} is a {found.kind}; it must be a {kind}", field=role)
    return found


def scored(
    batches: Iterable[Sequence[Example]], path: Path, judge: Callable[[], Judge], log: Callable[[dict[str, Any]], None]
) -> Scores:
    """Every example's scores: those in the file at `path`, and of what is missing there what the judge says."""
    found = _read(path)
    if missing := _missing(batches, found):
        _ask(judge(), missing, path, found, log)
    return Scores(found)


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
    judge: Judge,
    missing: Mapping[str, Mapping[bytes, str]],
    path: Path,
    found: dict[bytes, float],
    log: Callable[[dict[str, Any]], None],
) -> None:
    rows = iter(missing.items())
    done = 0
    while group := list(islice(rows, QUERIES_AT_ONCE)):
        names = [name for _, texts in group for name in texts]
        scores = judge([(query, list(texts.values())) for query, texts in group])
        with path.open("ab") as file:
            file.write(np.array(list(zip(names, scores, strict=True)), dtype=RECORD).tobytes())
        found.update(zip(names, map(float, scores), strict=True))
        done += len(group)
        log({"scored": path.stem, "queries": done, "of": len(missing)})


def _read(path: Path) -> dict[bytes, float]:
    """The scores found so far; a record that a kill cut in two is left out, and what follows starts in its place."""
    if not path.is_file():
        return {}
    whole = path.stat().st_size // RECORD.itemsize * RECORD.itemsize
    with path.open("r+b") as file:
        file.truncate(whole)
    records = np.fromfile(path, dtype=RECORD)
    return dict(zip(records["key"].tolist(), records["score"].astype(float).tolist(), strict=True))
