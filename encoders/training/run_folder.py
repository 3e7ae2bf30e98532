"""The files in a run's folder that more than one module uses, and its log: one JSON object per line."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import orjson

from mappings.errors import Conflict

CHECKPOINT: Final = "checkpoint"
LOG: Final = "log.jsonl"
PLOT: Final = "loss.svg"
RECORD: Final = "record.json"
REPORT: Final = "report.json"

Log = Callable[[dict[str, Any]], None]


def is_run(folder: Path) -> bool:
    """Whether `medley train` started a run in the folder, finished or not."""
    return (folder / RECORD).is_file() or (folder / REPORT).is_file()


def check_kind(folder: Path, kind: str) -> None:
    """Raise `Conflict` if a run of another kind was started in the folder: its files would lie between those of this one."""
    try:
        found = orjson.loads((folder / RECORD).read_bytes())["recipe"]["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if found != kind:
        raise Conflict(f"{folder} holds a run of the kind {found}: train a {kind} into another folder", field="OUT")


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """Keep other processes from training into the folder meanwhile. Raises `Conflict` if one does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system may know no locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(
                    f"another process is training into {folder}: wait until it has ended", field="OUT"
                ) from None
        yield
    finally:
        os.close(descriptor)


def open_log(path: Path, watch: Log | None = None) -> Log:
    """A function that appends an entry to the log at `path`, with the time, and passes it to `watch`."""
    written = path.read_bytes() if path.is_file() else b""
    if written and not written.endswith(b"\n"):
        with path.open("a") as file:  # a kill has cut the last entry: the next one gets a line of its own
            file.write("\n")

    def write(entry: dict[str, Any]) -> None:
        with path.open("a") as file:
            file.write(json.dumps({"time": round(time.time(), 1), **entry}) + "\n")
        if watch:
            watch(entry)

    return write


def read_log(path: Path) -> list[dict[str, Any]]:
    """The entries of a log without unreadable lines: a kill can truncate one, and NaN is not valid JSON."""
    found = []
    for line in path.read_bytes().splitlines():
        with suppress(orjson.JSONDecodeError):
            found.append(orjson.loads(line))
    return [entry for entry in found if isinstance(entry, dict)]
