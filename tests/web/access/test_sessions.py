"""Sessions end when people log out, leave them idle or have had them for long, for every copy of their cookie."""

import os
import re
import stat
import time

import pytest
from portal_home import settings_of

from mappings.errors import InvalidInput
from search.settings import Settings
from web import create_app
from web.access import tokens
from web.access.live_sessions import LiveSessions, end_all
from web.access.sessions import live_sessions_of


@pytest.fixture
def ada(home):
    return tokens.add(home, "ada", ["ward-7"])


def csrf(client):
    return re.search(r'name="csrf" value="([^"]+)"', client.get("/login").text)[1]


def log_in(client, token):
    answer = client.post("/login", data={"csrf": csrf(client), "token": token})
    assert answer.status_code == 303, answer.text
    return client


def copy_of(client, app):
    """A second browser with the cookie of `client`."""
    name = client.application.config["SESSION_COOKIE_NAME"]
    other = app.test_client()
    other.set_cookie(name, client.get_cookie(name).value)
    return other


def files(home):
    return list((home / "sessions").iterdir())


def age(home, seconds):
    """Let the sessions of `home` have been used for the last time `seconds` ago."""
    for file in files(home):
        os.utime(file, (time.time() - seconds,) * 2)


def test_a_copied_cookie_does_not_outlive_the_logout(app, home, ada):
    client = log_in(app.test_client(), ada)
    other_process = create_app(settings_of(home))
    here, there = copy_of(client, app), copy_of(client, other_process)
    assert [each.get("/v1/collections").status_code for each in (here, there)] == [200, 200]
    client.post("/logout", data={"csrf": csrf(client)})
    restarted = create_app(settings_of(home))
    for each in (here, there, copy_of(here, restarted)):
        answer = each.get("/v1/collections")
        assert answer.status_code == 401
        assert "this session has been ended" in answer.json["error"]["message"]
        assert each.get("/").status_code == 303


def test_logging_out_ends_no_other_session(app, ada):
    first, second = log_in(app.test_client(), ada), log_in(app.test_client(), ada)
    first.post("/logout", data={"csrf": csrf(first)})
    assert (first.get("/").status_code, second.get("/").status_code) == (303, 200)


def test_logging_in_again_ends_the_session_before(app, ada):
    client = log_in(app.test_client(), ada)
    old = copy_of(client, app)
    log_in(client, ada)
    assert (old.get("/").status_code, client.get("/").status_code) == (303, 200)


def test_an_idle_session_ends_and_the_login_page_says_so(app, home, ada):
    client = log_in(app.test_client(), ada)
    age(home, 29 * 60)
    assert client.get("/").status_code == 200
    age(home, 30 * 60)
    assert client.get("/").status_code == 303
    assert "This session was not used for 30 minutes. Log in again." in client.get("/login").text
    assert log_in(client, ada).get("/").status_code == 200


def test_use_keeps_a_session_alive(app, home, ada):
    client = log_in(app.test_client(), ada)
    age(home, 25 * 60)
    client.get("/")
    (file,) = files(home)
    assert time.time() - file.stat().st_mtime < 60


def test_a_session_ends_after_hours_though_it_is_used(app, home, ada):
    client = log_in(app.test_client(), ada)
    (file,) = files(home)
    file.write_text(f"{time.time() - 12 * 3600 - 1:.0f}")
    answer = client.get("/v1/collections")
    assert (answer.status_code, "opened more than 12 hours ago" in answer.json["error"]["message"]) == (401, True)


def test_a_session_without_an_id_of_the_server_is_refused(app, ada):
    client = app.test_client()
    with client.session_transaction() as session:
        session["token"] = ada.split("_")[1]
    assert client.get("/v1/collections").status_code == 401
    assert "opened by an earlier version" in client.get("/login").text


@pytest.mark.parametrize("identifier", ["", ".", "..", "../tokens.json", "a" * 31, "A" * 32, "g" * 32, "a" * 32 + "\n"])
def test_only_an_id_is_a_session(tmp_path, identifier):
    live = LiveSessions(tmp_path, 60, 3600)
    live.open()
    assert live.why_ended(identifier)
    live.end(identifier)
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("content", [b"", b"soon", b"\xff"])
def test_a_damaged_session_has_ended(tmp_path, content):
    live = LiveSessions(tmp_path, 60, 3600)
    identifier = live.open()
    (tmp_path / "sessions" / identifier).write_bytes(content)
    assert live.why_ended(identifier)


def test_expired_sessions_leave_no_files(tmp_path):
    now = 1_000_000.0
    live = LiveSessions(tmp_path, 600, 3600, lambda: now)
    old = live.open()
    now += 601
    new = live.open()
    assert [file.name for file in files(tmp_path)] == [new]
    assert live.why_ended(old) == "has been ended"
    assert stat.S_IMODE(files(tmp_path)[0].stat().st_mode) == 0o600
    end_all(tmp_path)
    assert live.why_ended(new) == "has been ended"


def test_an_idle_time_of_nothing_never_ends_a_session(tmp_path):
    now = 1_000_000.0
    live = LiveSessions(tmp_path, 0, 7200, lambda: now)
    identifier = live.open()
    now += 7199
    assert live.why_ended(identifier) is None
    now += 1
    assert live.why_ended(identifier) == "was opened more than 2 hours ago"


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"session_hours": 0}, "MEDLEY_SESSION_HOURS"),
        ({"session_hours": 10**9}, "MEDLEY_SESSION_HOURS"),
        ({"session_idle_minutes": 10**9}, "MEDLEY_SESSION_IDLE_MINUTES"),
    ],
)
def test_a_time_out_of_range_is_named(tmp_path, wrong, name):
    with pytest.raises(InvalidInput, match=name):
        live_sessions_of(Settings(home=tmp_path, **wrong))
