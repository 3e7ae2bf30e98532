"""MTSamples: transcribed clinical notes with headings in capitals, their line breaks turned into commas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.collection import Collection
from mappings.datasets.files import dataset_records
from mappings.documents import Document
from mappings.formats.mtsamples import parse

NAME: Final = "mtsamples"


@dataclass(frozen=True, slots=True)
class TranscribedNote:
    """A note; `name` and `description` say what it is about."""

    id: str
    name: str
    description: str
    specialties: tuple[str, ...]
    text: str

    def document(self, collection: Collection) -> Document:
        """The document that the format `mtsamples` makes of this note."""
        record = {"id": self.id, "name": self.name, "specialties": list(self.specialties), "text": self.text}
        return parse(record, collection)


def read_notes(data: Path | None) -> Iterator[TranscribedNote]:
    """The notes, in the order of the file."""
    for record in dataset_records(data, f"{NAME}/notes", ("id", "name", "description", "text")):
        yield TranscribedNote(
            record["id"],
            record["name"],
            record["description"],
            tuple(record.get("specialties") or ()),
            record["text"],
        )
