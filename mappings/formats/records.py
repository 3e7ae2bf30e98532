"""JSON Lines of any schema: one record a line, streamed; what is wrong with one record never stops the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.collection import Collection
from mappings.documents import Document, Rejection
from mappings.errors import InvalidInput
from mappings.formats.files import Line, Placed, lines

Parse = Callable[[Mapping[str, Any], Collection], Document]
"""A record of one schema to a document; raises `InvalidInput` that names the field."""

_Record = tuple[Line, Mapping[str, Any]]

SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
_PATIENCE: Final = 20
"""A file whose first lines are all no JSON objects is the wrong file, not twenty bad records."""


def json_lines(parse: Parse) -> Callable[[Path, Collection], Iterator[Placed]]:
    """A reader of files in which every line is one record for `parse`.

    The reader raises `InvalidInput` when the file holds no JSON objects at all.
    """

    def read(path: Path, collection: Collection) -> Iterator[Placed]:
        for record in _held_back(path, _records(path)):
            if isinstance(record, Rejection):
                yield Placed(record.position, record)
            else:
                yield _document(*record, parse, collection)

    return read


def _records(path: Path) -> Iterator[_Record | Rejection]:
    for item in lines(path):
        if isinstance(item, Rejection):
            yield item
        elif item.content.strip():
            yield _record(item)


def _record(line: Line) -> _Record | Rejection:
    try:
        record = orjson.loads(line.content.decode())
    except UnicodeDecodeError as error:
        return line.rejected(f"the line is not valid UTF-8 (byte {error.start + 1})")
    except orjson.JSONDecodeError as error:
        return line.rejected(f"the line is no JSON object ({error})")
    return (line, record) if isinstance(record, dict) else line.rejected("the line is JSON, but no object in { }")


def _held_back(path: Path, records: Iterator[_Record | Rejection]) -> Iterator[_Record | Rejection]:
    """The records, but the first bad ones only when a good one follows: before that the file may be the wrong one."""
    waiting: list[Rejection] = []
    for record in records:
        if not isinstance(record, Rejection):
            yield from waiting
            yield record
            yield from records
            return
        waiting.append(record)
        if len(waiting) == _PATIENCE:
            break
    if waiting:
        raise InvalidInput(
            f"{path}: expected JSON Lines, one object in {{ }} a line, plain or gzip; "
            f"{waiting[0].position}: {waiting[0].reason}",
            field="path",
        )


def _document(line: Line, record: Mapping[str, Any], parse: Parse, collection: Collection) -> Placed:
    try:
        return Placed(line.position, parse(record, collection))
    except InvalidInput as error:
        return Placed(line.position, line.rejected(error.message, error.field))
