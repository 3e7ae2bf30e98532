"""Who is asking: a token in the `Authorization` header, a session that a token opened, or this machine's own user."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from flask import Flask, g, request, session
from flask.sessions import SecureCookieSessionInterface

from mappings.documents import EVERY_LABEL, Access
from mappings.errors import Forbidden, InvalidInput, Unauthorized
from web.access import tokens
from web.access.private_files import kept_secret
from web.context import caller, portal

LOCAL: Final = Access("local", frozenset({EVERY_LABEL}))
SESSION_KEY: Final = "session.key"
SESSION_HOURS: Final = 12
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ExpiredForm(Forbidden):
    """A form came without the token that this browser's session was given."""

    code = "csrf"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, the id of the token they showed (`None` is this machine's own user), and where they may write."""

    access: Access
    token: str | None
    writes: frozenset[str] = frozenset()

    def may_write(self, collection: str) -> bool:
        """Whether they may put documents into a collection and delete them there, whatever their labels are."""
        return not self.writes.isdisjoint({collection, tokens.EVERY_COLLECTION})


class SecureWhenHttps(SecureCookieSessionInterface):
    """Session cookies that a browser which came by https never sends in the clear."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Whether the cookie of this answer is for https only."""
        return request.is_secure


def set_up_sessions(app: Flask, home: Path) -> None:
    """Sessions as signed cookies; every worker reads the key from the home folder.

    Cookies don't know ports, so the name depends on the key: two portals on one machine keep theirs apart.
    """
    key = kept_secret(home / SESSION_KEY)
    app.secret_key = key
    app.session_interface = SecureWhenHttps()
    app.config.update(
        SESSION_COOKIE_NAME=f"medley_{sha256(b'name' + key).hexdigest()[:8]}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
        SESSION_REFRESH_EACH_REQUEST=False,
    )


def check_bind(home: Path, host: str) -> None:
    """Raise `InvalidInput` when an address that others can reach is to be served without any token."""
    if not is_loopback(host) and not tokens.listed(home):
        raise InvalidInput(
            f"{host} can be reached from other machines, and no token protects it: "
            "make one with `medley tokens add`, or serve on 127.0.0.1",
            field="host",
        )


def is_loopback(host: str) -> bool:
    """Whether the address or name `host`, in brackets or not, is this machine's own."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def guarded(home: Path) -> bool:
    """Whether tokens were ever made here. Revoking the last one closes the door, it doesn't open it to everybody."""
    return (home / tokens.FILE).exists()


def require_caller() -> None:
    """Find out who asks. Raises `Unauthorized`, or `Forbidden` for a stranger at a portal without tokens."""
    home = portal().home
    if request.headers.get("Authorization"):
        g.caller = _by_header(tokens.listed(home))
    elif guarded(home):
        g.caller = _by_session(tokens.listed(home))
    else:
        _check_local()
        g.caller = Caller(LOCAL, None, frozenset({tokens.EVERY_COLLECTION}))


def require_program(home: Path) -> None:
    """At a door without sessions: raise `Unauthorized` or `Forbidden` unless a token, or this machine, may ask."""
    if request.headers.get("Authorization"):
        _by_header(tokens.listed(home))
    elif guarded(home):
        raise Unauthorized("a token is needed: send 'Authorization: Bearer' and a token of `medley tokens add`")
    else:
        _check_local()


def check_writer(collection: str) -> None:
    """Raise `Forbidden` unless the caller may write into `collection`, whether there is one of this name or not."""
    if not caller().may_write(collection):
        raise Forbidden(
            f"this token may not write into {collection[:80]!r}: a token that may is made with "
            "`medley tokens add USER --label LABEL --write COLLECTION`",
            field="collection",
        )


def _by_header(known: Sequence[tokens.Token]) -> Caller:
    scheme, _, text = request.headers["Authorization"].partition(" ")
    token = tokens.verified(known, text) if scheme.lower() == "bearer" else None
    if token is None:
        raise Unauthorized("the token is not valid: send 'Authorization: Bearer' and a token of `medley tokens add`")
    return Caller(token.access, token.id, token.writes)


def _by_session(known: Sequence[tokens.Token]) -> Caller:
    token = tokens.find(known, str(session.get("token", "")))
    if token is None:
        raise Unauthorized("a token is needed: send 'Authorization: Bearer' and a token of `medley tokens add`")
    if request.method not in SAFE_METHODS and request.path.startswith("/v1/"):
        raise Unauthorized("a session may only read here: send the token as 'Authorization: Bearer'")
    return Caller(token.access, token.id, token.writes)


def _check_local() -> None:
    """Refuse what may come from elsewhere: another machine, a proxy, a page whose name was rebound to this address.

    A page of another site may lead here by a link, but not ask in the background.
    """
    forwarded = any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-Ip"))
    host = request.host if request.host.endswith("]") else request.host.rsplit(":", 1)[0]
    foreign = (
        request.headers.get("Sec-Fetch-Site") == "cross-site" and request.headers.get("Sec-Fetch-Mode") != "navigate"
    )
    if forwarded or foreign or not is_loopback(request.remote_addr or "") or not is_loopback(host):
        raise Forbidden(
            "no token was made yet, so only this machine is answered, at 127.0.0.1 or localhost: "
            "make a token with `medley tokens add`"
        )


def caller_of(text: str) -> Caller:
    """Whose token `text` is. Raises `Unauthorized`."""
    token = tokens.verified(tokens.listed(portal().home), text)
    if token is None:
        raise Unauthorized("this token is not valid", field="token")
    return Caller(token.access, token.id, token.writes)


def open_session(caller: Caller) -> None:
    """Let this browser be `caller` until the session ends."""
    session.clear()
    session.permanent = True
    session["token"] = caller.token


def form_token() -> str:
    """What every form of this browser's session carries, so that no other site can send one in its name."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def check_form_token() -> None:
    """Raise `ExpiredForm` unless the form carries its session's token."""
    expected, given = str(session.get("csrf", "")), request.form.get("csrf", "")
    if not expected or not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
        raise ExpiredForm("the form has expired: go back, reload the page and send it again", field="csrf")
