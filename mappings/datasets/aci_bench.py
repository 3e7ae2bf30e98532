"""ACI-Bench: whole visit notes, written from dialogues of doctor and patient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_folder, existing_file, json_records

NAME: Final = "aci_bench"


@dataclass(frozen=True, slots=True)
class VisitNote:
    """A note by the id of its encounter."""

    id: str
    text: str


def read_training_notes(data: Path | None) -> Iterator[VisitNote]:
    """The notes of the training split."""
    return _read(existing_file(dataset_folder(data, NAME) / "train.jsonl"))


def read_test_notes(data: Path | None) -> Iterator[VisitNote]:
    """The notes of all test splits."""
    return _read(*sorted(dataset_folder(data, NAME).glob("*test*.jsonl*")))


def _read(*paths: Path) -> Iterator[VisitNote]:
    for path in paths:
        for _, record in json_records(path, ("encounter_id", "note")):
            yield VisitNote(record["encounter_id"], record["note"])
