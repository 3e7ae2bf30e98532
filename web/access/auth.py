"""Authentication: a token in the `Authorization` header, a session that a token opened, or the user of this machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flask import request, session

from mappings.errors import Forbidden, InvalidInput, Unauthorized
from web.access import tokens
from web.access.caller import LOCAL, Caller

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TOKEN_NEEDED: Final = "an access token is required: send 'Authorization: Bearer' with a token from `medley tokens add`"  # noqa: S105


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


def is_guarded(home: Path) -> bool:
    """Whether a token was ever created here.

    Revoking the last one locks everybody out; it does not give open access.
    """
    return (home / tokens.FILE).exists()


def authenticate(home: Path) -> Caller:
    """The caller of this request.

    Raises `Unauthorized`, or `Forbidden` for a remote caller of a server without tokens.
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
    """The holder of the token `text`. Raises `Unauthorized`."""
    token = tokens.verify(tokens.list_tokens(home), text)
    if token is None:
        raise Unauthorized("this token is not valid", field="token")
    return Caller(token.access, token.id, token.writes, token.operator)


def _by_header(known: Sequence[tokens.ApiToken]) -> Caller:
    scheme, _, text = request.headers["Authorization"].partition(" ")
    token = tokens.verify(known, text) if scheme.lower() == "bearer" else None
    if token is None:
        raise Unauthorized("the token is not valid: send 'Authorization: Bearer' with a token from `medley tokens add`")
    return Caller(token.access, token.id, token.writes, token.operator)


def _by_session(known: Sequence[tokens.ApiToken]) -> Caller:
    token = tokens.find(known, str(session.get("token", "")))
    if token is None:
        raise Unauthorized(_TOKEN_NEEDED)
    if request.method not in SAFE_METHODS and request.path.startswith("/v1/"):
        raise Unauthorized("a session can only read here: send the token as 'Authorization: Bearer'")
    return Caller(token.access, token.id, token.writes, token.operator)


def _check_local() -> None:
    """Reject requests that can come from elsewhere: another machine, a proxy, or a page after DNS rebinding.

    A page of another site can link here, but cannot send requests in the background.
    """
    forwarded = any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-Ip"))
    host = request.host if request.host.endswith("]") else request.host.rsplit(":", 1)[0]
    foreign = (
        request.headers.get("Sec-Fetch-Site") == "cross-site" and request.headers.get("Sec-Fetch-Mode") != "navigate"
    )
    if forwarded or foreign or not is_loopback(request.remote_addr or "") or not is_loopback(host):
        raise Forbidden(
            "no access token exists yet, so only requests from this machine to 127.0.0.1 or localhost are answered: "
            "create a token with `medley tokens add`"
        )
