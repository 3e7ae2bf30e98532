"""What a request may reach: the opened Medley, the caller, the request's id, the access log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flask import current_app, g, request

from web.access.log import AccessLog

if TYPE_CHECKING:
    from search.bootstrap import Medley
    from web.access.auth import Caller
    from web.backlog import Backlog
    from workers.queueing.queue import Queue

EXTENSION = "medley"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class Portal:
    """What one application serves."""

    medley: Medley
    log: AccessLog
    backlog: Backlog
    queue: Queue | None

    @property
    def home(self) -> Path:
        """The folder of the tokens, the secrets and the logs."""
        return self.medley.settings.home


def portal() -> Portal:
    """What this application serves."""
    return cast("Portal", current_app.extensions[EXTENSION])


def caller() -> Caller:
    """Who asks; known once `auth.require_caller` has run."""
    return cast("Caller", g.caller)


def request_id() -> str:
    """The id of this request: the client's own `X-Request-ID` when it is a plain one, else a new one."""
    if "request_id" not in g:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _REQUEST_ID.match(given) else secrets.token_hex(8)
    return cast("str", g.request_id)


def audit(
    action: str, collection: str, asked: Mapping[str, Any], ids: Sequence[str], status: int = 200
) -> dict[str, Any]:
    """A line of the access log: the caller, what they did, and which documents they get to see.

    Who tries to log in with a wrong token is nobody yet: their `user` is null.
    """
    who = g.get("caller")
    return {
        "user": who.access.user if who else None,
        "token": who.token if who else None,
        "address": request.remote_addr,
        "request": request_id(),
        "action": action,
        "collection": collection,
        "asked": dict(asked),
        "ids": list(ids),
        "status": status,
    }


def log(*entries: Mapping[str, Any]) -> None:
    """Write lines of the access log. Raises `Unavailable`: nothing is shown that can't be logged."""
    portal().log.write(entries)
