"""Tokens that expire: they and their sessions are refused from then on, with a message that says so."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from mappings.errors import InvalidInput, Unavailable
from web.access import tokens
from web.access.expiry import expiry_of

NOW = datetime(2027, 1, 30, 12, 30, 15, 500, UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12h", datetime(2027, 1, 31, 0, 30, 15, tzinfo=UTC)),
        ("90d", datetime(2027, 4, 30, 12, 30, 15, tzinfo=UTC)),
        (" 2w ", datetime(2027, 2, 13, 12, 30, 15, tzinfo=UTC)),
        ("2027-01-30", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2028-02-29", datetime(2028, 3, 1, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_duration_or_a_date(text, moment):
    assert expiry_of(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["", "90", "0d", "-1d", "1.5d", "999999d", "3m", "soon", "2027-02-29", "9999-12-31", "2027-01-29", "٣d"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        expiry_of(text, NOW)
    assert caught.value.field == "expires"


@pytest.fixture
def ada(home):
    """The text of a token that is good for a day."""
    return tokens.add(home, "ada", ["ward-7"], expires=datetime.now(UTC) + timedelta(days=1))


def expire(home):
    file = home / "tokens.json"
    kept = json.loads(file.read_text())
    kept["tokens"][0]["expires"] = "2026-01-31T12:00:00+00:00"
    file.write_text(json.dumps(kept))


def test_an_expired_token_is_refused_and_says_since_when(client, home, ada, logged):
    headers = {"Authorization": f"Bearer {ada}"}
    assert client.get("/v1/collections", headers=headers).status_code == 200
    expire(home)
    answer = client.get("/v1/collections", headers=headers)
    assert (answer.status_code, answer.json["error"]["code"]) == (401, "unauthorized")
    assert "this token expired on 2026-01-31 12:00 UTC: ask the operator" in answer.json["error"]["message"]
    assert logged()[-1]["asked"] == {"reason": "expired token"}
    assert (logged()[-1]["token"], logged()[-1]["user"]) == (ada.split("_")[1], None)


def test_a_wrong_secret_does_not_learn_that_a_token_expired(client, home, ada):
    expire(home)
    answer = client.get("/v1/collections", headers={"Authorization": f"Bearer {ada[:-2]}xx"})
    assert "expired" not in answer.json["error"]["message"]


def log_in(client, token):
    form = re.search(r'name="csrf" value="([^"]+)"', client.get("/login").text)[1]
    return client.post("/login", data={"csrf": form, "token": token})


def test_the_sessions_of_an_expired_token_end(client, home, ada):
    assert log_in(client, ada).status_code == 303
    assert client.get("/").status_code == 200
    expire(home)
    assert client.get("/").status_code == 303
    page = client.get("/login").text
    assert "This token expired on 2026-01-31 12:00 UTC" in page
    answer = log_in(client, ada)
    assert (answer.status_code, "This token expired on" in answer.text) == (401, True)


def test_a_token_is_kept_with_its_expiry(tmp_path):
    ends = datetime(2027, 1, 31, tzinfo=UTC)
    tokens.add(tmp_path, "ada", ["a"], expires=ends)
    tokens.add(tmp_path, "ben", ["a"])
    ada, ben = tokens.list_tokens(tmp_path)
    assert (ada.expires, ben.expires, ben.is_expired) == (ends, None, False)
    assert ada.as_json()["expires"] == "2027-01-31T00:00:00+00:00"


@pytest.mark.parametrize("damage", ["soon", "", 7, []])
def test_a_damaged_expiry_lets_nobody_in(tmp_path, damage):
    tokens.add(tmp_path, "ada", ["a"])
    file = tmp_path / "tokens.json"
    kept = json.loads(file.read_text())
    kept["tokens"][0]["expires"] = damage
    file.write_text(json.dumps(kept))
    with pytest.raises(Unavailable, match=r"tokens\.json"):
        tokens.list_tokens(tmp_path)
