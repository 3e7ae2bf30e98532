"""What a stance classifier that is not trained says of a run's examples: read once before the first step, and kept in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from encoders.pooling import Floats
from encoders.training.data.batches import Example
from encoders.training.data.frozen_scores import make_key
from mappings.stances import STANCES, ClaimPassage

AT_ONCE = 2048
"""Examples between two entries of the log."""


class TaughtReading(NamedTuple):
    """A teacher's reading of one passage: `stances` (3,) and `evidence` (s,) are logits; a sentence it did not read has -inf."""

    stances: Floats
    evidence: Floats


ReadClaims = Callable[[Sequence[str], Sequence[ClaimPassage]], list[TaughtReading]]
"""Claims, and a passage for each -> what each passage says of its claim."""


class FrozenReadings:
    """Readings by (claim, text)."""

    def __init__(self, found: Mapping[bytes, TaughtReading]) -> None:
        self._found = found

    def readings(self, batch: Sequence[Example]) -> list[TaughtReading]:
        """The teacher's reading of each example, in order."""
        return [self._found[_key(item)] for item in batch]


def read_batches(
    batches: Iterable[Sequence[Example]],
    path: Path,
    load: Callable[[], ReadClaims],
    log: Callable[[dict[str, Any]], None],
) -> FrozenReadings:
    """The readings of every example: those in the file at `path`, and the missing ones from the model that `load` loads."""
    found = _load(path)
    missing = {key: item for batch in batches for item in batch if (key := _key(item)) not in found}
    if missing:
        read, done = load(), 0
        # Those of like length together, so that there is little padding.
        ordered = sorted(missing.items(), key=lambda entry: len(entry[1].texts[0]))
        for start in range(0, len(ordered), AT_ONCE):
            group = ordered[start : start + AT_ONCE]
            items = [(item.query, item.claim.passage) for _, item in group if item.claim is not None]
            readings = read([claim for claim, _ in items], [passage for _, passage in items])
            found.update(zip((key for key, _ in group), readings, strict=True))
            done += len(group)
            log({"scored": path.stem, "queries": done, "of": len(missing)})
        _store(path, found)
    return FrozenReadings(found)


def _key(item: Example) -> bytes:
    return make_key(item.query, item.texts[0])


def _store(path: Path, found: Mapping[bytes, TaughtReading]) -> None:
    """Write all readings one after the other, with the number of sentences of each."""
    counts = np.array([len(item.evidence) for item in found.values()], dtype=np.int32)
    values = np.concatenate([part for item in found.values() for part in (item.stances, item.evidence)])
    temporary = path.with_suffix(".part.npz")
    np.savez(temporary, keys=np.array(list(found), dtype="S32"), counts=counts, values=values.astype(np.float32))
    temporary.replace(path)


def _load(path: Path) -> dict[bytes, TaughtReading]:
    if not path.is_file():
        return {}
    with np.load(path) as stored:
        keys, counts, values = stored["keys"].tolist(), stored["counts"], stored["values"]
    ends = np.cumsum(counts + len(STANCES))
    rows = np.split(values, ends[:-1])
    return {key: TaughtReading(row[: len(STANCES)], row[len(STANCES) :]) for key, row in zip(keys, rows, strict=True)}
