"""MTS-Dialog: sections of clinical notes, written from dialogues of doctor and patient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_folder, existing_file, json_records

NAME: Final = "mts_dialog"


@dataclass(frozen=True, slots=True)
class DialogueSection:
    """A section under its header ("GENHX"); ids are unique within a file only."""

    id: str
    header: str
    text: str


def read_training_sections(data: Path | None) -> Iterator[DialogueSection]:
    """The sections of the training split."""
    return _read(existing_file(dataset_folder(data, NAME) / "MTS-Dialog-TrainingSet.jsonl"))


def read_test_sections(data: Path | None) -> Iterator[DialogueSection]:
    """The sections of both test splits."""
    return _read(*sorted(dataset_folder(data, NAME).glob("*TestSet*.jsonl*")))


def _read(*paths: Path) -> Iterator[DialogueSection]:
    names = ("ID", "section_header", "section_text")
    for path in paths:
        for _, record in json_records(path, names):
            yield DialogueSection(*(str(record[name]) for name in names))
