"""Authentication: a token in the `Authorization` header, a session that a token opened, or the user of this machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from flask import request

from mappings.errors import Forbidden, InvalidInput, Unauthorized
from web.access import expiry, sessions, tokens
from web.access.caller import LOCAL, Caller
from web.access.guard import is_guarded

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
Reason = Literal["not a bearer token", "unknown token", "wrong secret", "expired token", "ended session"]
GUESSES: Final = frozenset[Reason]({"not a bearer token", "unknown token", "wrong secret"})
"""The reasons that show no right secret."""

FOR_PROGRAMS: Final = ("/v1/", "/opensearch/")
"""Addresses to which a session can only send requests that read."""

SESSION_WRITES: Final = "/v1/kept"
"""The one address under `/v1/` that a session can write to, with the form token of its pages: what its user keeps."""

_TOKEN_NEEDED: Final = "an access token is required: send 'Authorization: Bearer' with a token from `medley tokens add`"  # noqa: S105
_PROXY_HEADERS: Final = frozenset(
    {
        "cf-connecting-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-forwarded-for",
        "x-original-host",
        "x-real-ip",
    }
)
"""Headers that only proxies send, beside those that begin with `X-Forwarded`."""


class RejectedCredentials(Unauthorized):
    """A request came with a token or a session that is refused, for `reason`; `token` is its id if there is such a one."""

    def __init__(
        self, message: str, *, field: str | None = None, reason: Reason = "unknown token", token: str | None = None
    ) -> None:
        super().__init__(message, field=field)
        self.reason, self.token = reason, token


def check_bind(home: Path, host: str) -> None:
    """Raise `InvalidInput` if `host` can be reached from other machines and no token exists."""
    if not is_loopback(host) and not tokens.list_tokens(home):
        raise InvalidInput(
            f"{host} can be reached from other machines, and no token protects it: "
            "create one with `medley tokens add`, or serve on 127.0.0.1",
            field="host",
        )


def is_loopback(host: str) -> bool:
    """Whether the address or host name `host`, in brackets or not, is a loopback one."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def authenticate(home: Path) -> Caller:
    """The caller of this request.

    Raises `Unauthorized`, as `RejectedCredentials` if it came with a token or a session, or `Forbidden` for a remote caller of
    a server without tokens.
    """
    if request.headers.get("Authorization"):
        return _by_header(tokens.list_tokens(home))
    if is_guarded(home):
        return _by_session(tokens.list_tokens(home))
    _check_local()
    return LOCAL


def require_program(home: Path) -> None:
    """For servers without sessions: raise `Unauthorized` or `Forbidden` unless the request has a token or is local."""
    if request.headers.get("Authorization"):
        _by_header(tokens.list_tokens(home))
    elif is_guarded(home):
        raise Unauthorized(_TOKEN_NEEDED)
    else:
        _check_local()


def caller_with_token(home: Path, text: str) -> Caller:
    """The holder of the token `text`. Raises `RejectedCredentials`."""
    wrong = "this token is not valid. Check that you copied all of it"
    return _holder(tokens.list_tokens(home), text, wrong, field="token")


def ended_session(home: Path) -> str | None:
    """Why the session that this browser had is not valid any more, as a sentence; None without one, or if it is."""
    try:
        _session_token(tokens.list_tokens(home))
    except RejectedCredentials as error:
        return error.message
    except Unauthorized:
        return None
    return None


def _by_header(known: Sequence[tokens.ApiToken]) -> Caller:
    scheme, _, text = request.headers["Authorization"].partition(" ")
    wrong = "the token is not valid: send 'Authorization: Bearer' with a token from `medley tokens add`"
    if scheme.lower() != "bearer":
        raise RejectedCredentials(wrong, reason="not a bearer token")
    return _holder(known, text, wrong)


def _holder(known: Sequence[tokens.ApiToken], text: str, wrong: str, field: str | None = None) -> Caller:
    token = tokens.verify(known, text)
    if token is None:
        identifier = tokens.claimed(known, text)
        reason: Reason = "wrong secret" if identifier else "unknown token"
        raise RejectedCredentials(wrong, field=field, reason=reason, token=identifier)
    _check_expiry(token, field)
    return _caller(token)


def _check_expiry(token: tokens.ApiToken, field: str | None = None) -> None:
    if token.is_expired and token.expires:
        message = f"this token expired on {expiry.in_words(token.expires)}: ask the operator for a new one"
        raise RejectedCredentials(message, field=field, reason="expired token", token=token.id)


def _by_session(known: Sequence[tokens.ApiToken]) -> Caller:
    token = _session_token(known)
    if request.method not in SAFE_METHODS and request.path.startswith(FOR_PROGRAMS):
        if request.path != SESSION_WRITES and not request.path.startswith(f"{SESSION_WRITES}/"):
            raise Unauthorized("a session can only read here: send the token as 'Authorization: Bearer'")
        sessions.check_form_token()
    return _caller(token)


def _session_token(known: Sequence[tokens.ApiToken]) -> tokens.ApiToken:
    identifier = sessions.token_of_session()
    if not identifier:
        raise Unauthorized(_TOKEN_NEEDED)
    token = tokens.find(known, identifier)
    why = sessions.why_ended() if token else "has been ended: its token was revoked"
    if token is None or why:
        message = f"this session {why}. Log in again"
        raise RejectedCredentials(message, reason="ended session", token=identifier)
    _check_expiry(token)
    return token


def _caller(token: tokens.ApiToken) -> Caller:
    return Caller(token.access, token.id, token.writes, token.operator)


def _check_local() -> None:
    """Reject requests that can come from elsewhere: another machine, a proxy, or a page after DNS rebinding.

    A page of another site can link here, but cannot send requests in the background.
    """
    names = [name.lower() for name in request.headers.keys()]  # noqa: SIM118
    forwarded = any(name in _PROXY_HEADERS or name.startswith("x-forwarded") for name in names)
    host = request.host if request.host.endswith("]") else request.host.rsplit(":", 1)[0]
    foreign = (
        request.headers.get("Sec-Fetch-Site") == "cross-site" and request.headers.get("Sec-Fetch-Mode") != "navigate"
    )
    if forwarded or foreign or not is_loopback(request.remote_addr or "") or not is_loopback(host):
        raise Forbidden(
            "no access token exists yet, so only requests from this machine to 127.0.0.1 or localhost are answered: "
            "create a token with `medley tokens add`"
        )
