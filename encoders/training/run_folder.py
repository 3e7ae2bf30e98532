"""The files in a run's folder that more than one module uses, and its log: one JSON object per line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

CHECKPOINT: Final = "checkpoint"
LOG: Final = "log.jsonl"
PLOT: Final = "loss.svg"
RECORD: Final = "record.json"
REPORT: Final = "report.json"

Log = Callable[[dict[str, Any]], None]


def is_run(folder: Path) -> bool:
    """Whether `medley train` started a run in the folder, finished or not."""
    return (folder / RECORD).is_file() or (folder / REPORT).is_file()


def open_log(path: Path, watch: Log | None = None) -> Log:
    """A function that appends an entry to the log at `path`, with the time, and passes it to `watch`."""

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
