"""Rows of CSV files of any size, with texts over many lines. A stray or missing quote costs its own row, never the rest.

A row continues while the number of its quotes is odd, so one stray quote would swallow everything that follows. A row is
broken if it is longer than `MAX_ROW_BYTES`, does not end, has not the fields of the header, or has a last line that looks
like the first line of a row. Reading then resumes at the next line that looks like one: its fields before the text are
complete, and those that should be ids look like ids.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.documents import Rejection
from mappings.errors import InvalidInput
from mappings.formats.files import TextLine, lines

MAX_ROW_BYTES: Final = 16 << 20
_FIELD: Final = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",\n]*+))(,|\Z)')
_KEY: Final = re.compile(r"[\w.-]{0,32}\d[\w.-]{0,32}")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row: the fields by lowercase column name. `position` is that of its first line."""

    position: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file; `text` is the one that can contain line breaks and commas, `keys` are those of ids."""

    columns: tuple[str, ...]
    text: str
    keys: tuple[str, ...]

    def starts_row(self, line: TextLine, quoted: bool = False) -> bool:
        """Whether the line looks like the first of a row; with `quoted`, of a row that opens a quoted text."""
        before = self.columns[: self.columns.index(self.text)]
        content = line.content.decode(errors="replace")
        found, end = _split(content, len(before))
        fields = dict(zip(before, found, strict=False))
        whole = len(found) == len(before) and content[end - 1 : end] == "," and (not quoted or content[end:][:1] == '"')
        return whole and all(_KEY.fullmatch(fields.get(key, "")) for key in self.keys)


class _Lines:
    """The lines of a file; lines that were read can be put back."""

    def __init__(self, path: Path) -> None:
        self._rest = lines(path)
        self._back: deque[TextLine | Rejection] = deque()

    def next(self) -> TextLine | Rejection | None:
        return self._back.popleft() if self._back else next(self._rest, None)

    def put_back(self, items: list[TextLine | Rejection]) -> None:
        self._back.extendleft(reversed(items))

    def skip(self, header: Header) -> str:
        """Skip to the next line that looks like the first of a row, and say where that is."""
        while (item := self.next()) is not None:
            if isinstance(item, Rejection) or header.starts_row(item):
                self.put_back([item])
                return f"reading resumes at {item.position}"
        return "no line after it looks like a row"


def rows(path: Path, text: str, keys: tuple[frozenset[str], ...]) -> Iterator[CsvRow | Rejection]:
    """The rows of a file. Each of `keys` is a set of names, one of which must be a column of ids.

    Raises `InvalidInput` if the first line does not name the column `text` and one of each of `keys`.
    """
    source = _Lines(path)
    first = source.next()
    if first is None or isinstance(first, Rejection):
        yield from () if first is None else (first,)
        return
    header = _header(path, first, text, keys)
    while (item := source.next()) is not None:
        if isinstance(item, Rejection):
            yield item
        elif item.content.strip():
            yield _row(source, header, item)


def _header(path: Path, line: TextLine, text: str, keys: tuple[Collection[str], ...]) -> Header:
    found, _ = _split(line.content.decode(errors="replace"))
    columns = tuple(name.strip().lower() for name in found)
    missing = [" or ".join(sorted(names)) for names in (*keys, {text}) if not set(names) & set(columns)]
    if missing:
        raise InvalidInput(
            f"{path}: expected CSV whose first line names the columns; missing: {', '.join(missing)}", field="path"
        )
    return Header(columns, text, tuple(next(name for name in columns if name in names) for names in keys))


def _row(source: _Lines, header: Header, first: TextLine) -> CsvRow | Rejection:
    parts, fault = _complete(source, first)
    if not fault:
        try:
            content = b"\n".join(part.content for part in parts).decode()
        except UnicodeDecodeError as error:
            return first.rejected(f"the row is not valid UTF-8 (byte {error.start + 1})")
        found, end = _split(content)
        if end == len(content) and len(found) == len(header.columns) and not _swallows_next(header, parts):
            return CsvRow(first.position, dict(zip(header.columns, found, strict=True)))
        fault = (
            f"the row is broken: expected {len(header.columns)} fields, but {len(found)} can be read; check its quotes"
        )
    source.put_back([*parts[1:]])
    return first.rejected(f"{fault}; {source.skip(header)}")


def _swallows_next(header: Header, parts: list[TextLine]) -> bool:
    """Whether the quote that ends the row really opens the text of the next one."""
    return len(parts) > 1 and header.starts_row(parts[-1], quoted=True)


def _complete(source: _Lines, first: TextLine) -> tuple[list[TextLine], str]:
    """The lines of a row, and a message if its quoted text does not end."""
    parts, size = [first], len(first.content)
    odd = first.content.count(b'"') % 2
    while odd:
        item = source.next()
        if not isinstance(item, TextLine):
            source.put_back([item] if item else [])
            return parts, "a quoted text starts here and does not end"
        parts.append(item)
        size += len(item.content) + 1
        odd ^= item.content.count(b'"') % 2
        if size > MAX_ROW_BYTES:
            return parts, f"a quoted text starts here and does not end within {MAX_ROW_BYTES:,} bytes"
    return parts, ""


def _split(content: str, at_most: int = 10_000) -> tuple[list[str], int]:
    """The fields, and where they end: before the end of `content` if the rest is not a field."""
    found: list[str] = []
    place = 0
    while len(found) < at_most and (match := _FIELD.match(content, place)):
        found.append(match[1].replace('""', '"') if match[1] is not None else match[2])
        place = match.end()
        if not match[3]:
            break
    return found, place
