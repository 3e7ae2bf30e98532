"""Clinical notes label themselves (CAPR P1): what the note is about, and the section's heading, find the section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.records import Record, records
from encoders.labels.split import bucket, is_test_note, split_of

_HEADING = re.compile(r"(?:^|[,.;]\s*|\s{2,})([A-Z][A-Z0-9/&'() -]{2,60}):")
_SERIAL = re.compile(r"\s*-\s*\d+$")
_MIN_WORDS = 12


def note_sections(record: Record) -> list[Text]:
    """The sections of one note under headings in capitals; leftovers of the lost line breaks are removed."""
    text, marks = record["text"], list(_HEADING.finditer(record["text"]))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    return [
        Text(f"{record['id']}-{number}", record["name"], mark.group(1).strip().lower(), _tidy(text[mark.end() : end]))
        for number, (mark, end) in enumerate(zip(marks, ends, strict=True))
    ]


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r",\s*(?=,|[A-Z0-9])", " ", text)).strip(" ,")


def training_notes(data: Path, dropped: dict[str, int]) -> list[Record]:
    """The notes of the training side, without those whose whole text a test note repeats."""
    found = records(data, "mtsamples/notes.jsonl.gz")
    guarded = {normalise(record["text"]) for record in found if is_test_note(record["id"])}
    kept = [r for r in found if not is_test_note(r["id"]) and normalise(r["text"]) not in guarded]
    dropped["notes of the test side or with a twin there"] += len(found) - len(kept)
    return kept


def notes_corpus(found: list[Record]) -> list[Text]:
    """All sections long enough to answer anything."""
    return [text for record in found for text in note_sections(record) if len(text.text.split()) >= _MIN_WORDS]


def notes(found: list[Record]) -> Iterator[Pair]:
    """Per note, up to two sections, asked for by the note's name or description and the heading."""
    for record in found:
        sections = sorted(notes_corpus([record]), key=lambda text: bucket(text.id, 1_000_003))
        for text in sections[:2]:
            same = tuple(other.id for other in sections if other.heading == text.heading)
            entity = _entity(record, text)
            query = f"{entity} {text.heading}"
            yield Pair("note", f"note:{text.id}", record["id"], split_of(record["id"]), "notes", query, same, text)


def _entity(record: Record, text: Text) -> str:
    name = _SERIAL.sub("", record["name"]).replace(" - ", " ")
    first = record["description"].split(". ")[0].strip().rstrip(".")
    short = 2 <= len(first.split()) <= 16
    return first if short and bucket(text.id, 2) else name
