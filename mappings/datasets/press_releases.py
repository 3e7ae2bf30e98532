"""Press releases beside the abstracts they report (InSciOut): the conclusion of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records

NAME: Final = "press_releases"


@dataclass(frozen=True, slots=True)
class PressRelease:
    """The conclusion as the press release states it, and as the abstract does."""

    id: str
    statement: str
    conclusion: str


def read_press_releases(data: Path | None, split: str) -> Iterator[PressRelease]:
    """The pairs of a split: 100 in `train`, 563 in `test`."""
    names = ("original_file_id", "press_release_conclusion", "abstract_conclusion")
    for record in dataset_records(data, f"{NAME}/insciout_{split}", names):
        yield PressRelease(*(record[name] for name in names))
