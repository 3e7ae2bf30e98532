"""Self-labelled clinical notes (CAPR P1): the query is what the note is about, and the section's heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, surround
from encoders.labels.split import bucket, is_test_note, split_of
from mappings.datasets.mtsamples import TranscribedNote, read_notes

_HEADING: Final = re.compile(r"(?:^|[,.;]\s*|\s{2,})([A-Z][A-Z0-9/&'() -]{2,60}):")
_SERIAL: Final = re.compile(r"\s*-\s*\d+$")
_MIN_WORDS: Final = 12


def note_sections(note: TranscribedNote) -> list[Text]:
    """The sections of a note under headings in capitals, without the commas that replaced line breaks."""
    text, marks = note.text, list(_HEADING.finditer(note.text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    return [
        Text(f"{note.id}-{number}", note.name, mark.group(1).strip().lower(), _tidy(text[mark.end() : end]))
        for number, (mark, end) in enumerate(zip(marks, ends, strict=True))
    ]


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r",\s*(?=,|[A-Z0-9])", " ", text)).strip(" ,")


def read_training_notes(data: Path | None, dropped: dict[str, int]) -> list[TranscribedNote]:
    """The notes of the training split, without those whose whole text a test note repeats."""
    found = list(read_notes(data))
    guarded = {normalise(note.text) for note in found if is_test_note(note.id)}
    kept = [note for note in found if not is_test_note(note.id) and normalise(note.text) not in guarded]
    dropped["notes of the test side or with a twin there"] += len(found) - len(kept)
    return kept


def long_sections(notes: Iterable[TranscribedNote]) -> list[Text]:
    """All sections that are long enough to answer a query."""
    return [text for note in notes for text in note_sections(note) if len(text.text.split()) >= _MIN_WORDS]


def label_notes(notes: Iterable[TranscribedNote]) -> Iterator[Pair]:
    """Up to two sections of each note; the query is the note's name or description, and the heading."""
    for note in notes:
        sections = sorted(long_sections([note]), key=lambda text: bucket(text.id, 1_000_003))
        around = {text.id: text for text in surround([text for text in note_sections(note) if text.text])}
        for text in sections[:2]:
            same = tuple(other.id for other in sections if other.heading == text.heading)
            query = f"{_entity(note, text)} {text.heading}"
            yield Pair("note", f"note:{text.id}", note.id, split_of(note.id), "notes", query, same, around[text.id])


def _entity(note: TranscribedNote, text: Text) -> str:
    name = _SERIAL.sub("", note.name).replace(" - ", " ")
    first = note.description.split(". ")[0].strip().rstrip(".")
    short = 2 <= len(first.split()) <= 16
    return first if short and bucket(text.id, 2) else name
