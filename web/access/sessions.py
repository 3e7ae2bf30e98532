"""Browser sessions: signed cookies that a token opens and the server can end, and the token that protects every form."""

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Final, cast

from flask import Flask, current_app, request, session
from flask.sessions import SecureCookieSessionInterface

from mappings.errors import Forbidden, InvalidInput
from search.settings import Settings
from web.access.caller import Caller
from web.access.live_sessions import LiveSessions
from web.access.private_files import load_or_make_secret

SESSION_KEY: Final = "session.key"
FORM_TOKEN_HEADER: Final = "X-CSRF-Token"  # noqa: S105 — its name
MOST_HOURS: Final = 24 * 90
MOST_IDLE_MINUTES: Final = 60 * MOST_HOURS
_EXTENSION: Final = "medley_sessions"


class ExpiredForm(Forbidden):
    """A form came without the form token of its session."""

    code = "csrf"


class SecureWhenHttps(SecureCookieSessionInterface):
    """Session cookies that a browser which came by https never sends in the clear."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Whether the cookie of this answer is for https only."""
        return request.is_secure


def set_up_sessions(app: Flask, settings: Settings) -> None:
    """Keep sessions in signed cookies; every worker process reads the key from the home folder.

    Browsers share cookies between ports, so the name depends on the key: two portals on one machine keep theirs apart.
    Raises `InvalidInput` for a time that is out of range.
    """
    live = live_sessions_of(settings)
    key = load_or_make_secret(settings.home / SESSION_KEY)
    app.secret_key = key
    app.session_interface = SecureWhenHttps()
    app.extensions[_EXTENSION] = live
    app.config.update(
        SESSION_COOKIE_NAME=f"medley_{sha256(b'name' + key).hexdigest()[:8]}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=settings.session_hours),
        SESSION_REFRESH_EACH_REQUEST=False,
    )


def live_sessions_of(settings: Settings) -> LiveSessions:
    """The sessions of the home in `settings`. Raises `InvalidInput` for a time that is out of range."""
    hours, minutes = settings.session_hours, settings.session_idle_minutes
    if not 1 <= hours <= MOST_HOURS:
        raise InvalidInput(f"MEDLEY_SESSION_HOURS must be 1 to {MOST_HOURS}, not {hours}", field="MEDLEY_SESSION_HOURS")
    if minutes > MOST_IDLE_MINUTES:
        message = f"MEDLEY_SESSION_IDLE_MINUTES must be 0 to {MOST_IDLE_MINUTES}, not {minutes}"
        raise InvalidInput(message, field="MEDLEY_SESSION_IDLE_MINUTES")
    return LiveSessions(settings.home, minutes * 60, hours * 3600)


def open_session(caller: Caller) -> None:
    """Log this browser in as `caller` until the session ends; one that it had before ends now."""
    close_session()
    session.permanent = True
    session["token"] = caller.token
    session["id"] = _live().open()


def close_session() -> None:
    """End the session of this browser, for every copy of its cookie."""
    _live().end(str(session.get("id", "")))
    session.clear()


def token_of_session() -> str:
    """The id of the token that opened this browser's session; empty without a session."""
    return str(session.get("token", ""))


def why_ended() -> str | None:
    """Why this browser's session has ended, in words that follow "this session"; None while it is open."""
    return _live().why_ended(str(session.get("id", "")))


def _live() -> LiveSessions:
    return cast("LiveSessions", current_app.extensions[_EXTENSION])


def form_token() -> str:
    """The token that every form of this session carries, so that no other site can send one in its name."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def check_form_token() -> None:
    """Raise `ExpiredForm` unless the form carries its session's token, or a script of ours sends it as a header.

    No page of another site can set that header.
    """
    expected = str(session.get("csrf", ""))
    given = request.headers.get(FORM_TOKEN_HEADER) or request.form.get("csrf", "")
    if not expected or not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
        raise ExpiredForm("the form has expired: go back, reload the page and send it again", field="csrf")
