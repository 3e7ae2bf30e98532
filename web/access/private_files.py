"""Files that only their owner can read: written atomically, and safe with several processes."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mappings.errors import Unavailable
from search.home import open_home

OWNER_ONLY = 0o600


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on the file `path` of the home during the block. Raises `Unavailable` if it cannot be created."""
    open_home(path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", field=path.name) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the content of the file `path` atomically. Raises `Unavailable`; the old content then stays."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        _write(aside, content)
        aside.replace(path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", field=path.name) from error
    finally:
        aside.unlink(missing_ok=True)


def load_or_make_secret(path: Path, size: int = 32) -> bytes:
    """The secret in the file `path`; the first of several processes creates it, the others read it."""
    with suppress(FileNotFoundError):
        return _read(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        _write(aside, secrets.token_bytes(size))
        with suppress(FileExistsError):  # a link fails, whereas a rename would replace another process's secret
            os.link(aside, path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", field=path.name) from error
    finally:
        aside.unlink(missing_ok=True)
    return _read(path)


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    if len(content) < 16:
        raise Unavailable(f"{path} is damaged: remove it, and the next start creates a new secret", field=path.name)
    return content


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
