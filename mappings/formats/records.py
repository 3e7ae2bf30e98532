"""JSON Lines of any schema: one record a line, streamed; what is wrong with one record never stops the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.collection import Collection
from mappings.documents import Document, Rejection
from mappings.errors import InvalidInput
from mappings.formats.files import Line, lines

Parse = Callable[[Mapping[str, Any], Collection], Document]
"""A record of one schema to a document; raises `InvalidInput` that names the field."""

SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
_PATIENCE: Final = 20
"""A file whose first lines are all no JSON objects is the wrong file, not twenty bad records."""


def json_lines(parse: Parse) -> Callable[[Path, Collection], Iterator[Document | Rejection]]:
    """A reader of files in which every line is one record for `parse`.

    The reader raises `InvalidInput` when the file holds no JSON objects at all.
    """

    def read(path: Path, collection: Collection) -> Iterator[Document | Rejection]:
        waiting: list[Rejection] | None = []
        for item in lines(path):
            if isinstance(item, Line) and not item.content.strip():
                continue
            record = _record(item) if isinstance(item, Line) else item
            if waiting is not None and isinstance(record, Rejection):
                waiting.append(record)
                if len(waiting) == _PATIENCE:
                    raise _wrong_file(path, waiting)
                continue
            yield from waiting or ()
            waiting = None
            yield record if isinstance(record, Rejection) else _document(item, record, parse, collection)
        if waiting:
            raise _wrong_file(path, waiting)

    return read


def _record(line: Line) -> Mapping[str, Any] | Rejection:
    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        return line.rejected(f"the line is not valid UTF-8 (byte {error.start + 1})")
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return line.rejected(f"the line is no JSON object ({error})")
    return record if isinstance(record, dict) else line.rejected("the line is JSON, but no object in { }")


def _document(line: Any, record: Mapping[str, Any], parse: Parse, collection: Collection) -> Document | Rejection:
    try:
        return parse(record, collection)
    except InvalidInput as error:
        rejection: Rejection = line.rejected(error.message, error.field)
        return rejection


def _wrong_file(path: Path, rejections: list[Rejection]) -> InvalidInput:
    first = rejections[0]
    return InvalidInput(
        f"{path}: expected JSON Lines, one object in {{ }} a line, plain or gzip; {first.position}: {first.reason}",
        field="path",
    )
