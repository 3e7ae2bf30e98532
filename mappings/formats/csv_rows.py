"""Rows of CSV files of any size, with texts over many lines; a quote too many or too few costs its row, never the rest.

A row goes on while its quotes are odd, so one stray quote would take in everything that follows. A row is broken when it
is longer than any row, when it does not end, when its fields are not those of the header, and when its last line looks
like the first of a row. Reading then goes on at the next line that does: its fields before the text are complete, and
those that hold ids look like ids.
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
from mappings.formats.files import Line, lines

MAX_ROW_BYTES: Final = 16 << 20
_FIELD: Final = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",\n]*+))(,|\Z)')
_KEY: Final = re.compile(r"[\w.-]{0,32}\d[\w.-]{0,32}")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the fields by their column's name in small letters. `position` is that of its first line."""

    position: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file; `text` is the one that may hold lines and commas, `keys` are those that hold ids."""

    columns: tuple[str, ...]
    text: str
    keys: tuple[str, ...]

    def begins(self, line: Line, quoted: bool = False) -> bool:
        """Whether the line looks like the first of a row; when `quoted`, of one that opens a quoted text."""
        before = self.columns[: self.columns.index(self.text)]
        content = line.content.decode(errors="replace")
        found, end = _split(content, len(before))
        fields = dict(zip(before, found, strict=False))
        whole = len(found) == len(before) and content[end - 1 : end] == "," and (not quoted or content[end:][:1] == '"')
        return whole and all(_KEY.fullmatch(fields.get(key, "")) for key in self.keys)


class _Lines:
    """The lines of a file, some of which can be put back."""

    def __init__(self, path: Path) -> None:
        self._rest = lines(path)
        self._back: deque[Line | Rejection] = deque()

    def next(self) -> Line | Rejection | None:
        return self._back.popleft() if self._back else next(self._rest, None)

    def put_back(self, items: list[Line | Rejection]) -> None:
        self._back.extendleft(reversed(items))

    def skip(self, header: Header) -> str:
        """Leave out what does not look like the first line of a row; where reading goes on, in words."""
        while (item := self.next()) is not None:
            if isinstance(item, Rejection) or header.begins(item):
                self.put_back([item])
                return f"reading goes on at {item.position}"
        return "nothing after it looks like a row"


def rows(path: Path, text: str, keys: tuple[frozenset[str], ...]) -> Iterator[Row | Rejection]:
    """The rows of a file; each of `keys` are names that a column of ids may have.

    Raises `InvalidInput` when the first line does not name the column `text` and one of each of `keys`.
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


def _header(path: Path, line: Line, text: str, keys: tuple[Collection[str], ...]) -> Header:
    found, _ = _split(line.content.decode(errors="replace"))
    columns = tuple(name.strip().lower() for name in found)
    missing = [" or ".join(sorted(names)) for names in (*keys, {text}) if not set(names) & set(columns)]
    if missing:
        raise InvalidInput(
            f"{path}: expected CSV whose first line names the columns; missing: {', '.join(missing)}", field="path"
        )
    return Header(columns, text, tuple(next(name for name in columns if name in names) for names in keys))


def _row(source: _Lines, header: Header, first: Line) -> Row | Rejection:
    parts, fault = _whole(source, first)
    if not fault:
        try:
            content = b"\n".join(part.content for part in parts).decode()
        except UnicodeDecodeError as error:
            return first.rejected(f"the row is not valid UTF-8 (byte {error.start + 1})")
        found, end = _split(content)
        if end == len(content) and len(found) == len(header.columns) and not _swallows(header, parts):
            return Row(first.position, dict(zip(header.columns, found, strict=True)))
        fault = f"the row is broken: expected {len(header.columns)} fields, {len(found)} can be read; is a quote amiss?"
    source.put_back([*parts[1:]])
    return first.rejected(f"{fault}; {source.skip(header)}")


def _swallows(header: Header, parts: list[Line]) -> bool:
    """Whether the quote that ends the row is the one that opens the text of the next."""
    return len(parts) > 1 and header.begins(parts[-1], quoted=True)


def _whole(source: _Lines, first: Line) -> tuple[list[Line], str]:
    """The lines of a row, and what is wrong when its quoted text does not end."""
    parts, size = [first], len(first.content)
    odd = first.content.count(b'"') % 2
    while odd:
        item = source.next()
        if not isinstance(item, Line):
            source.put_back([item] if item else [])
            return parts, "a quoted text begins here and does not end"
        parts.append(item)
        size += len(item.content) + 1
        odd ^= item.content.count(b'"') % 2
        if size > MAX_ROW_BYTES:
            return parts, f"a quoted text begins here and does not end within {MAX_ROW_BYTES:,} bytes"
    return parts, ""


def _split(content: str, at_most: int = 10_000) -> tuple[list[str], int]:
    """The fields from the beginning, and where they end: before the end of `content` when what follows is no field."""
    found: list[str] = []
    place = 0
    while len(found) < at_most and (match := _FIELD.match(content, place)):
        found.append(match[1].replace('""', '"') if match[1] is not None else match[2])
        place = match.end()
        if not match[3]:
            break
    return found, place
