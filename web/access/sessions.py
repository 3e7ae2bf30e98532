"""Browser sessions: signed cookies that a token opens, and the token that protects every form."""

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from flask import Flask, request, session
from flask.sessions import SecureCookieSessionInterface

from mappings.errors import Forbidden
from web.access.caller import Caller
from web.access.private_files import load_or_make_secret

SESSION_KEY: Final = "session.key"
SESSION_HOURS: Final = 12


class ExpiredForm(Forbidden):
    """A form came without the form token of its session."""

    code = "csrf"


class SecureWhenHttps(SecureCookieSessionInterface):
    """Session cookies that a browser which came by https never sends in the clear."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Whether the cookie of this answer is for https only."""
        return request.is_secure


def set_up_sessions(app: Flask, home: Path) -> None:
    """Keep sessions in signed cookies; every worker process reads the key from the home folder.

    Browsers share cookies between ports, so the name depends on the key: two portals on one machine keep theirs apart.
    """
    key = load_or_make_secret(home / SESSION_KEY)
    app.secret_key = key
    app.session_interface = SecureWhenHttps()
    app.config.update(
        SESSION_COOKIE_NAME=f"medley_{sha256(b'name' + key).hexdigest()[:8]}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
        SESSION_REFRESH_EACH_REQUEST=False,
    )


def open_session(caller: Caller) -> None:
    """Log this browser in as `caller` until the session ends."""
    session.clear()
    session.permanent = True
    session["token"] = caller.token


def form_token() -> str:
    """The token that every form of this session carries, so that no other site can send one in its name."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def check_form_token() -> None:
    """Raise `ExpiredForm` unless the form carries its session's token."""
    expected, given = str(session.get("csrf", "")), request.form.get("csrf", "")
    if not expected or not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
        raise ExpiredForm("the form has expired: go back, reload the page and send it again", field="csrf")
