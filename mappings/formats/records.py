"""JSON Lines of any schema: one record a line, streamed; an invalid record never affects the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.errors import InvalidInput
from mappings.formats.files import LocatedItem, TextLine, lines, parse_or_reject

Parse = Callable[[Mapping[str, Any], Collection], Document | Deletion]
"""Makes a document, or a deletion, of a record of one schema; raises `InvalidInput` that names the field."""

JsonRecord = tuple[TextLine, Mapping[str, Any]]
"""A line and the object on it."""

SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
_PATIENCE: Final = 20
"""A file whose first lines are all not JSON objects is the wrong file, not twenty invalid records."""


def json_lines(parse: Parse) -> Callable[[Path, Collection], Iterator[LocatedItem]]:
    """A reader of files in which every line is one record for `parse`.

    The reader raises `InvalidInput` if the file contains no JSON objects at all.
    """

    def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
        for record in json_objects(path):
            if isinstance(record, Rejection):
                yield LocatedItem(record.position, record)
            else:
                line, content = record
                yield parse_or_reject(line.source, line.position, partial(parse, content, collection))

    return read


def json_objects(path: Path) -> Iterator[JsonRecord | Rejection]:
    """The objects of a file, each with its line. Raises `InvalidInput` if the file contains no JSON objects at all."""
    return _held_back(path, _records(path))


def _records(path: Path) -> Iterator[JsonRecord | Rejection]:
    for item in lines(path):
        if isinstance(item, Rejection):
            yield item
        elif item.content.strip():
            yield record_of(item)


def record_of(line: TextLine) -> JsonRecord | Rejection:
    """The object on a line."""
    try:
        record = orjson.loads(line.content.decode())
    except UnicodeDecodeError as error:
        return line.rejected(f"the line is not valid UTF-8 (byte {error.start + 1})")
    except orjson.JSONDecodeError as error:
        return line.rejected(f"the line is not a JSON object ({error})")
    return (line, record) if isinstance(record, dict) else line.rejected("the line is JSON, but not an object in { }")


def _held_back(path: Path, records: Iterator[JsonRecord | Rejection]) -> Iterator[JsonRecord | Rejection]:
    """The records, but leading invalid ones only if a valid one follows: until then the file could be the wrong one."""
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
            f"{path}: expected JSON Lines, one object in {{ }} a line, plain or gzip (name another format, such as medline "
            f"for PubMed's XML, with --format); {waiting[0].position}: {waiting[0].reason}",
            field="path",
        )
