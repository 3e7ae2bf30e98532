"""Reads what is piped into a command: the text of a search, or records in any format."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.errors import InvalidInput

DASH: Final = "-"
"""What a user writes for the standard input."""

NAME: Final = "standard input"
_MAX_TEXT_BYTES: Final = 1 << 20


def read_text() -> str:
    """The whole input as one text. Raises `InvalidInput` if it is empty, not UTF-8, or above 1 MiB."""
    content = _stream().read(_MAX_TEXT_BYTES + 1)
    if len(content) > _MAX_TEXT_BYTES:
        raise InvalidInput(f"{NAME}: the text has more than {_MAX_TEXT_BYTES:,} bytes", field="text")
    try:
        text = content.decode().strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{NAME}: the text is not valid UTF-8 (byte {error.start + 1})", field="text") from error
    if not text:
        raise InvalidInput(f"{NAME} is empty: pipe a text into the command, or give one instead of '-'", field="text")
    return text


@contextmanager
def opened_records(
    format_: str, collection: Collection, home: Path
) -> Iterator[Iterator[Document | Deletion | Rejection]]:
    """The records of the input, as `mappings.formats.registry.read` reads them.

    They are copied first, because some formats are read twice, to a file in `home` that has no name and so is gone with
    this process. Raises `InvalidInput` for a format whose documents are named by their files.
    """
    from mappings.formats.registry import read

    if format_ == "notes":
        raise InvalidInput("notes are named by their files: give a file or a folder instead of '-'", field="path")
    with TemporaryFile(dir=home) as copy:
        shutil.copyfileobj(_stream(), copy)
        copy.flush()
        path = Path(f"/dev/fd/{copy.fileno()}")
        yield _renamed(read(path, format_, collection), str(path))


def _renamed(
    records: Iterator[Document | Deletion | Rejection], path: str
) -> Iterator[Document | Deletion | Rejection]:
    """The records, with the input's name in place of the copy's path."""
    try:
        for item in records:
            yield replace(item, source=NAME) if isinstance(item, Rejection) else item
    except InvalidInput as error:
        raise InvalidInput(error.message.replace(path, NAME), field=error.field) from error


def _stream() -> BinaryIO:
    if sys.stdin is None:  # the caller closed it
        raise InvalidInput("there is no standard input to read '-' from", field="path")
    return sys.stdin.buffer
