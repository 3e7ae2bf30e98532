"""Who asked what, and which documents they were shown: one JSON line each, written before the answer is given."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mappings.errors import Unavailable
from web.access.private_files import OWNER_ONLY

FILE = "access.log"


class AccessLog:
    """Appends to one file; it is opened for each line, so it may be rotated away at any time.

    Several processes may write: a line is a single write to a file opened for appending, under its lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append one line for each entry, all or none. Raises `Unavailable`: what can't be logged is not answered."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [json.dumps({"time": now, **entry}, ensure_ascii=True, default=str) for entry in entries]
        try:
            self._append("".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            message = "the access log can't be written, so the request is refused"
            raise Unavailable(f"{message}: {error.strerror or error}") from error

    def _append(self, content: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, content) != len(content):
                os.ftruncate(descriptor, before)  # a full disk took a part: half a line would spoil the next one too
                raise OSError(0, "the disk took only a part of the line")
        finally:
            os.close(descriptor)
