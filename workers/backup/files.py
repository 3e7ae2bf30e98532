"""The files of a backup: private, written aside until all are there, and read back line by line."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from mappings.errors import Conflict, InvalidInput, NotFound
from search.engines.embedded.layout import sync_folder, unavailable

_OWNER_FILE: Final = 0o600
_OWNER_FOLDER: Final = 0o700
_PART: Final = 1 << 20
_LEVEL: Final = 3


@contextmanager
def folder_aside(target: Path) -> Iterator[Path]:
    """A folder for the block to fill, which becomes `target` once the block has ended; an error removes it.

    A kill leaves it under its hidden name, which is not taken for what it was to be. Raises `Conflict` if `target` exists,
    `NotFound` if the folder around it does not, `Unavailable` if it cannot be written.
    """
    if os.path.lexists(target):
        raise Conflict(f"{target} exists already, and nothing is replaced: name a new folder", field="destination")
    if not target.parent.is_dir():
        raise NotFound(f"the folder {target.parent} does not exist", field="destination")
    aside = target.with_name(f".{target.name}.unfinished-{secrets.token_hex(4)}")
    try:
        aside.mkdir(mode=_OWNER_FOLDER)
        yield aside
        for folder, _, _ in os.walk(aside):
            sync_folder(Path(folder))
        os.rename(aside, target)
        sync_folder(target.parent)
    except OSError as error:
        raise unavailable(f"{target} could not be written", error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def make_folder(folder: Path) -> Path:
    """A folder that only its owner can read; those around it are created likewise."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=_OWNER_FOLDER)
    return folder


def write_lines(path: Path, values: Iterable[dict[str, Any]]) -> None:
    """Write values as compressed JSON lines, durably."""
    with _new_file(path) as file, gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as lines:
        for value in values:
            lines.write(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The inverse of `write_lines`. Raises `InvalidInput` for a file that is not what it writes."""
    try:
        with gzip.open(path, "rb") as lines:
            for line in lines:
                yield orjson.loads(line)
    except (OSError, EOFError, zlib.error, orjson.JSONDecodeError) as error:
        raise InvalidInput(f"{path} can't be read: {error}", field=path.name) from error


def write_private(path: Path, content: bytes) -> None:
    """Write a new file durably."""
    with _new_file(path) as file:
        file.write(content)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file as it is at this moment, durably; others may append to it, under its lock, or replace it."""
    with source.open("rb") as content, _new_file(target) as file:
        fcntl.flock(content, fcntl.LOCK_SH)
        left = os.fstat(content.fileno()).st_size
        fcntl.flock(content, fcntl.LOCK_UN)  # what is there stays as it is: appending goes on meanwhile
        while part := content.read(min(_PART, left)):
            file.write(part)
            left -= len(part)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file to a new name, under which it appears only when it is complete. Raises `FileExistsError`."""
    aside = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        copy_file(source, aside)
        os.link(aside, target)  # fails where the name exists, whereas a rename would replace it
        sync_folder(target.parent)
    finally:
        aside.unlink(missing_ok=True)


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def begins_with(path: Path, other: Path) -> bool:
    """Whether a file begins with the content of another one, as a log does that was appended to since."""
    with path.open("rb") as longer, other.open("rb") as shorter:
        while part := shorter.read(_PART):
            if longer.read(len(part)) != part:
                return False
    return True


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    def private(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CLOEXEC, _OWNER_FILE)

    opener: Callable[[str, int], int] = private
    with open(path, "xb", opener=opener) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
