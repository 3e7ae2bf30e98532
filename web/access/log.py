"""The access log: who requested what over which interface, and which documents they were shown.

One JSON line per record, written before the answer is sent.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from mappings.errors import Unavailable
from web.access.private_files import OWNER_ONLY

FILE = "access.log"

Door = Literal["http", "command line"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a request, over which interface (`door`) and from where.

    `user` is None for a login attempt with a wrong token; `token` is the id of the caller's token, None for the user of
    this machine. `address` and `request` (the request's id) exist over HTTP only.
    """

    door: Door
    user: str | None = None
    token: str | None = None
    address: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One line of the access log, the same for every interface.

    `asked` is what was requested, `ids` are the documents that the actor was shown, `status` is the HTTP status of the
    answer, or the one it would have over HTTP.
    """

    actor: Actor
    action: str
    collection: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    ids: Sequence[str] = ()
    status: int = 200

    def as_json(self) -> dict[str, Any]:
        """The record as it is written, without the time."""
        return {
            **asdict(self.actor),
            "action": self.action,
            "collection": self.collection,
            "asked": dict(self.asked),
            "ids": list(self.ids),
            "status": self.status,
        }


class AccessLog:
    """Appends to one file, which is opened for each write, so that it can be rotated at any time.

    Several processes can write to it: each write is a single system call on a file opened for appending, under its lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *records: AuditRecord) -> None:
        """Append one line per record, all or none.

        Raises `Unavailable`: a request that cannot be logged is not answered.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [json.dumps({"time": now, **item.as_json()}, ensure_ascii=True, default=str) for item in records]
        try:
            self._append("".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            message = "the access log cannot be written, so the request is rejected"
            raise Unavailable(f"{message}: {error.strerror or error}") from error

    def _append(self, content: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, content) != len(content):
                os.ftruncate(descriptor, before)  # the disk is full: half a line would corrupt the next one, too
                raise OSError(0, "only part of the line could be written")
        finally:
            os.close(descriptor)
