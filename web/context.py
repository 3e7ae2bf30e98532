"""The context of a request: the open Medley, the caller, the request's id, and the use cases for this caller."""

from __future__ import annotations

import re
import secrets
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flask import current_app, g, request

from mappings.errors import Unauthorized
from web.access import auth
from web.access.caller import Caller
from web.access.log import AccessLog, Actor, AuditRecord
from web.access.proxies import client_address
from web.access.throttle import Throttle, TooManyFailures
from web.statuses import status_of
from web.use_cases import OnAnswer, UseCases

if TYPE_CHECKING:
    from search.bootstrap import Medley
    from web.backlog import Backlog
    from web.serving.fair_shares import FairShares, Turn
    from workers.queueing.queue import Queue

EXTENSION = "medley"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class Portal:
    """The objects that one application serves from."""

    medley: Medley
    log: AccessLog
    backlog: Backlog
    queue: Queue | None
    searches: FairShares
    uploads: FairShares
    throttle: Throttle = field(default_factory=Throttle)
    on_answer: OnAnswer = lambda collection, results: None

    @property
    def home(self) -> Path:
        """The folder of the tokens, the secrets and the logs."""
        return self.medley.settings.home


def portal() -> Portal:
    """The objects of this application."""
    return cast("Portal", current_app.extensions[EXTENSION])


def require_caller() -> None:
    """Authenticate the request; a token or session that is refused is logged.

    Raises `Unauthorized`, or `Forbidden` for a remote caller of a server without tokens.
    """
    try:
        g.caller = auth.authenticate(portal().home)
    except auth.RejectedCredentials as error:
        raise logged_rejection("authenticate", error) from error


def logged_rejection(action: str, error: auth.RejectedCredentials) -> Unauthorized:
    """Log that a token or session was refused, never its secret; return the error to answer with.

    That is `TooManyFailures` when too many wrong tokens came from this address. Raises `Unavailable` if it cannot be logged.
    """
    made = replace(actor(), user=None, token=error.token)
    answer: Unauthorized = error
    wait = portal().throttle.count_failure(made.address) if error.reason in auth.GUESSES else 0
    if wait:
        message = f"{error.message}; too many wrong tokens came from {made.address}, so try again in {wait} seconds"
        answer = TooManyFailures(message, field=error.field, retry_after=wait)
    portal().log.write(AuditRecord(made, action, asked={"reason": error.reason}, status=status_of(answer)))
    return answer


def caller() -> Caller:
    """The caller, known once `require_caller` has run."""
    return cast("Caller", g.caller)


def request_id() -> str:
    """The id of this request: the client's `X-Request-ID` if it is a plain one, otherwise a new one."""
    if "request_id" not in g:
        given = request.headers.get("X-Request-ID", "")
        g.request_id = given if _REQUEST_ID.match(given) else secrets.token_hex(8)
    return cast("str", g.request_id)


def actor() -> Actor:
    """Who made this request, for the access log; a caller who is not known yet has no `user`."""
    known: Caller | None = g.get("caller")
    user, token = (known.access.user, known.token) if known else (None, None)
    return Actor("http", user, token, client_address(), request_id())


def search_turn() -> AbstractContextManager[Turn]:
    """The caller's turn to search. Raises `CallerBusy` on entering."""
    return portal().searches.hold(_sharer())


def upload_turn() -> AbstractContextManager[Turn]:
    """The caller's turn to upload documents. Raises `CallerBusy` on entering."""
    return portal().uploads.hold(_sharer())


def _sharer() -> str:
    """Who has one share: the holder of a token, or without tokens an address."""
    token = caller().token
    return f"token {token}" if token else f"address {request.remote_addr}"


def use_cases() -> UseCases:
    """What the caller of this request can do."""
    served = portal()
    return UseCases(served.medley, served.log, caller(), actor(), served.queue, served.on_answer)
