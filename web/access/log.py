"""The access log: who requested what over which interface, and which documents they were shown.

One JSON line per record, chained to the line before, written before the answer is sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from mappings.errors import Unavailable
from search.pipeline.results import Results
from search.query import NOT_PRESENT, Query
from search.settings import Settings
from search.understanding import filters
from web.access import chain
from web.access.private_files import OWNER_ONLY

FILE = "access.log"
HEAD_LOST = "head lost"

Door = Literal["http", "command line", "server"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a request, over which interface (`door`) and from where; `server` is the log itself.

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

    Several processes can write to it: each write is a single system call, under the lock of the chain's head. With `sync`
    it returns only when the lines are on the disk.
    """

    def __init__(self, path: Path, sync: bool = False) -> None:
        self.path, self._sync = path, sync

    @classmethod
    def of(cls, settings: Settings) -> AccessLog:
        """The log of the home in `settings`."""
        return cls(settings.home / FILE, settings.access_log_sync > 0)

    def write(self, *records: AuditRecord) -> None:
        """Append one line per record, all or none.

        Raises `Unavailable`: a request that cannot be logged is not answered.
        """
        lines = [_line(item) for item in records]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with chain.held_head(self.path) as head:
                self._append(head, lines)
        except OSError as error:
            message = "the access log cannot be written, so the request is rejected"
            raise Unavailable(f"{message}: {error.strerror or error}") from error

    def _append(self, head: int, lines: list[str]) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, OWNER_ONLY)
        try:
            last, is_whole = chain.last_link(descriptor)
            link, is_lost = chain.continue_from(head, last)
            content = [] if is_whole else [b"\n"]
            for line in [_line(_HEAD_LOST), *lines] if is_lost else lines:
                chained, link = link.follow(line)
                content.append(chained)
            self._write(descriptor, b"".join(content))
            chain.write_head(head, link)
            if self._sync:
                os.fsync(head)
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, content: bytes) -> None:
        before = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, content) != len(content):
                raise OSError(0, "only part of the line could be written")
            if self._sync:
                self._write_through(descriptor, is_new=before == 0)
        except OSError:
            os.ftruncate(descriptor, before)  # the disk is full: half a line would corrupt the next one, too
            raise

    def _write_through(self, descriptor: int, is_new: bool) -> None:
        os.fsync(descriptor)
        if is_new:  # its name has to be on the disk, too
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


_HEAD_LOST = AuditRecord(Actor("server"), HEAD_LOST)
"""Logged when the head was missing or damaged: from the lines alone nobody can tell whether some were cut off."""


def _line(record: AuditRecord) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, **record.as_json()}, ensure_ascii=True, default=str)


def logged_query(query: Query) -> Mapping[str, Any]:
    """A query, without what it leaves at its default."""
    asked = {
        "text": query.text,
        "entity": query.entity,
        "aspect": query.aspect,
        "with": list(query.having),
        "without": list(query.lacking),
        "filters": filters.as_json(query.filters),
    }
    further: dict[str, Any] = {"sort": query.sort} if query.sort != "relevance" else {}
    if query.lacking and query.absence != NOT_PRESENT:
        further["absence"] = query.absence
    if query.plain:
        further["plain"] = True
    if query.everything:
        further["everything"] = True
    if query.vectors:
        further["vectors"] = [item.name for item in query.vectors]
    if query.as_typed:
        further["as_typed"] = list(query.as_typed)
    return (
        {name: value for name, value in asked.items() if value} | further | ({"page": "next"} if query.cursor else {})
    )


def logged_counts(results: Results, field: str) -> Mapping[str, Any]:
    """The values of the facet `field`, by which a kind groups documents: patients are shown by it as by a cohort."""
    values = [item.value for item in results.facets.get(field, ())]
    return {"counted": {field: values}} if values else {}
