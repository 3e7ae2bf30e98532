"""The scores of a frozen model for every example, computed once before the first step.

They are stored in the run's folder, one record per (query, text). The file grows as scores are computed, so that a killed
run continues; it is named after the model's fingerprint, so that another model starts a new file.
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

from encoders.pooling import Floats
from encoders.training.data.batches import Example

RECORD = np.dtype([("key", "S32"), ("score", "<f4")])
QUERIES_AT_ONCE = 32
QueryTexts = tuple[str, Sequence[str]]
"""A query with its texts."""
ScoreTexts = Callable[[Sequence[QueryTexts]], Floats]
"""Scores some queries, each with its texts -> the scores of all the texts, concatenated."""


class FrozenScores:
    """Scores by (query, text)."""

    def __init__(self, found: Mapping[bytes, float]) -> None:
        self._found = found

    def scores(self, batch: Sequence[Example]) -> Tensor:
        """The scores of each query's candidates, (b, 1 + k)."""
        return torch.tensor([[self._found[make_key(item.query, text)] for text in item.texts] for item in batch])


def make_key(query: str, text: str) -> bytes:
    """The key of a (query, text) in the file: 32 hexadecimal digits."""
    return hashlib.blake2b(f"{query}\0{text}".encode(errors="replace"), digest_size=16).hexdigest().encode()


def score_batches(
    batches: Iterable[Sequence[Example]],
    path: Path,
    load: Callable[[], ScoreTexts],
    log: Callable[[dict[str, Any]], None],
) -> FrozenScores:
    """The scores of every example: those in the file at `path`, and the missing ones from the model that `load` loads."""
    found = _read(path)
    if missing := _find_missing(batches, found):
        _score_missing(load(), missing, path, found, log)
    return FrozenScores(found)


def _find_missing(batches: Iterable[Sequence[Example]], found: Mapping[bytes, float]) -> dict[str, dict[bytes, str]]:
    """Query -> key -> text, for everything without a score."""
    missing: dict[str, dict[bytes, str]] = {}
    for batch in batches:
        for item in batch:
            texts = {key: text for text in item.texts if (key := make_key(item.query, text)) not in found}
            if texts:
                missing.setdefault(item.query, {}).update(texts)
    return missing


def _score_missing(
    score: ScoreTexts,
    missing: Mapping[str, Mapping[bytes, str]],
    path: Path,
    found: dict[bytes, float],
    log: Callable[[dict[str, Any]], None],
) -> None:
    rows = iter(missing.items())
    done = 0
    while group := list(islice(rows, QUERIES_AT_ONCE)):
        keys = [key for _, texts in group for key in texts]
        scores = score([(query, list(texts.values())) for query, texts in group])
        with path.open("ab") as file:
            file.write(np.array(list(zip(keys, scores, strict=True)), dtype=RECORD).tobytes())
        found.update(zip(keys, map(float, scores), strict=True))
        done += len(group)
        log({"scored": path.stem, "queries": done, "of": len(missing)})


def _read(path: Path) -> dict[bytes, float]:
    """The scores computed so far; a record that a kill truncated is removed, so that the next one is aligned."""
    if not path.is_file():
        return {}
    whole = path.stat().st_size // RECORD.itemsize * RECORD.itemsize
    with path.open("r+b") as file:
        file.truncate(whole)
    records = np.fromfile(path, dtype=RECORD)
    return dict(zip(records["key"].tolist(), records["score"].astype(float).tolist(), strict=True))
