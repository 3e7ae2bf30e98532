"""The files of a collection, and the durable file operations that the rest is built from.

`<home>/collections/<collection>/` holds `store.sqlite`, the pointer `published.json` and `indexes/<collection>-<n>/`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mappings.errors import Conflict, MedleyError, Unavailable
from search.engines.names import check_collection, split_index

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_WORDS: Final = (
    "no space left",
    "disk is full",
    "file too large",
    "quota exceeded",
    "os error 28",
    "os error 27",
    "index writer was killed",  # tantivy's only message when one of its threads could not write
)


def collection_folder(home: Path, collection: str) -> Path:
    """The folder of a collection, existing or not. Raises `InvalidInput` for an invalid name."""
    return home / "collections" / check_collection(collection)


def index_folder(home: Path, index: str) -> Path:
    """The folder of an index, existing or not. Raises `NotFound` for an invalid name."""
    return collection_folder(home, split_index(index)[0]) / "indexes" / index


def sync_folder(folder: Path) -> None:
    """Make new names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(path: Path, content: bytes) -> None:
    """Replace the file atomically: readers see the whole old or the whole new content, after a kill too."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync_folder(path.parent)


@contextmanager
def exclusive(path: Path, what: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path`, waiting up to `wait` seconds.

    Raises `Conflict` while another process holds it, `Unavailable` where it can't be written, as in a read-only folder.

    The kernel releases it with the process, so a kill leaves no stale lock.
    """
    with translate_errors(f"{what} can't be taken"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, what, time.monotonic() + wait)
        with suppress(OSError):  # it only tells others who holds it, and a full disk has no room for it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, what: str, until: float) -> None:
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= until:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace") or "unknown"
            raise Conflict(f"{what} is held by process {holder}; try again when it has finished", field="index")
        time.sleep(0.02)


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn errors of the system and of tantivy into `Unavailable`: a full disk, an unreadable or damaged file."""
    try:
        yield
    except MedleyError:
        raise
    except (OSError, ValueError, RuntimeError, LookupError) as error:
        raise unavailable(what, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of tantivy, at a damaged file; it is no `Exception`
            raise
        raise Unavailable(f"{what}: {error}") from error


def unavailable(what: str, error: Exception) -> Unavailable:
    """The error for a failed operation and its cause; a full disk is named as such."""
    if is_full(error):
        return Unavailable(f"{what}: the disk is full; free some space and try again, no accepted document is lost")
    return Unavailable(f"{what}: {error}")


def is_full(error: Exception) -> bool:
    """Whether an error, of any library, means that nothing more can be written."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_WRITE":
        return True
    return any(words in str(error).lower() for words in _FULL_WORDS)
