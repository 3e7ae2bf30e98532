"""Plain-text notes, one a file; the id is the name of the file without its suffix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from mappings.collection import Collection
from mappings.documents import MAX_TEXT_CHARACTERS, Document, Rejection, clean
from mappings.errors import InvalidInput
from mappings.formats.files import LocatedItem, chunks, parse_or_reject
from mappings.formats.jsonl import split

SUFFIXES: Final = (".txt", ".text", ".note")


def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
    """The note of a file, split into sections as the collection's kind configures, or a rejection."""
    yield parse_or_reject(str(path), "file", partial(_note, path, collection))


def _note(path: Path, collection: Collection) -> Document:
    text = clean(_text(path))
    name = path.name.removesuffix(".gz")
    identifier = name.rpartition(".")[0] or name
    return Document(identifier, "", split(text, collection), collection.default_labels)


def _text(path: Path) -> str:
    parts: list[bytes] = []
    size = 0
    for chunk in chunks(path):
        if isinstance(chunk, Rejection):
            raise InvalidInput(chunk.reason)
        size += len(chunk)
        if size > 4 * MAX_TEXT_CHARACTERS:  # a UTF-8 character has at most four bytes
            raise InvalidInput(f"the file has more than {MAX_TEXT_CHARACTERS:,} characters", field="text")
        parts.append(chunk)
    try:
        return b"".join(parts).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the note is not valid UTF-8 (byte {error.start + 1})", field="text") from error
