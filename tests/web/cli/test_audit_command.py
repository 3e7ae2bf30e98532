"""`medley tokens` and `medley audit` as an operator sees them: what they change is logged, and the log can be checked."""

import getpass
import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from web.access import tokens
from web.access.guard import is_guarded
from web.cli.main import cli


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDLEY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def medley(home):
    """Runs a command in this process; an error of ours is in the result's `exception`."""
    return lambda *arguments, **more: CliRunner().invoke(cli, arguments, **more)


def logged(home):
    return [json.loads(line) for line in (home / "access.log").read_text().splitlines()]


def test_changes_of_tokens_are_logged_without_their_secrets(medley, home):
    added = json.loads(medley("tokens", "add", "ada", "--label", "a", "--expires", "90d", "--json").stdout)
    assert medley("tokens", "revoke", added["id"]).exit_code == 0
    add, revoke = logged(home)
    assert (add["action"], revoke["action"]) == ("tokens add", "tokens revoke")
    assert (add["door"], add["user"], add["address"]) == ("command line", getpass.getuser(), None)
    assert add["asked"] == revoke["asked"] == {name: added[name] for name in added if name != "token"}
    assert added["token"].split("_", 2)[2] not in (home / "access.log").read_text()


def test_a_token_that_cannot_be_logged_is_not_made(medley, home):
    (home / "access.log").mkdir(parents=True)
    done = medley("tokens", "add", "ada", "--label", "a")
    assert (done.exit_code, done.stdout) == (1, "")
    assert tokens.list_tokens(home) == ()


def test_a_token_is_revoked_even_if_that_cannot_be_logged(medley, home):
    identifier = tokens.add(home, "ada", ["a"]).split("_")[1]
    (home / "access.log").mkdir()
    done = medley("tokens", "revoke", identifier)
    assert (done.exit_code, "is revoked, but that could not be logged" in str(done.exception)) == (1, True)
    assert tokens.list_tokens(home) == ()


def test_the_expiry_of_a_token_is_listed(medley, home):
    medley("tokens", "add", "ada", "--label", "a", "--expires", "2999-12-31")
    medley("tokens", "add", "ben", "--label", "a")
    tokens.add(home, "eve", ["a"], expires=datetime(2026, 1, 1, tzinfo=UTC))
    listed = json.loads(medley("tokens", "list", "--json").stdout)["tokens"]
    assert [(item["user"], item["expires"], item["expired"]) for item in listed] == [
        ("ada", "3000-01-01T00:00:00+00:00", False),
        ("ben", None, False),
        ("eve", "2026-01-01T00:00:00+00:00", True),
    ]
    table = medley("tokens", "list").stdout.splitlines()
    assert table[0].split()[-2:] == ["expires", "expired"]
    assert table[4].endswith("yes")


@pytest.mark.parametrize("expires", ["", "soon", "0d", "2020-01-01"])
def test_a_wrong_expiry_makes_no_token(medley, home, expires):
    done = medley("tokens", "add", "ada", "--label", "a", "--expires", expires)
    assert (done.exit_code, done.exception.field) == (1, "expires")
    assert not home.exists()


def test_going_back_to_open_use_is_asked_for_and_logged(medley, home):
    medley("tokens", "add", "ada", "--label", "a")
    assert medley("tokens", "open", input="n\n").exit_code == 1
    assert is_guarded(home)
    assert medley("tokens", "open", "--yes").stdout == "removed 1 token; restart the servers that are running\n"
    assert not is_guarded(home)
    assert [line["action"] for line in logged(home)] == ["tokens add", "tokens open"]


def test_a_whole_log_is_verified(medley, home):
    for user in ("ada", "ben"):
        medley("tokens", "add", user, "--label", "a")
    done = medley("audit", "verify")
    assert done.exit_code == 0
    assert "records 1 to 2 are intact; the last has the chain" in done.stdout
    assert logged(home)[-1]["chain"] in done.stdout
    assert json.loads(medley("audit", "verify", "--json").stdout) == {
        "files": ["access.log"],
        "unchained": 0,
        "first": 1,
        "last": 2,
        "chain": logged(home)[-1]["chain"],
        "broken": None,
    }


def test_the_first_broken_line_fails_the_command(medley, home):
    for user in ("ada", "ben", "eve"):
        medley("tokens", "add", user, "--label", "a")
    log = home / "access.log"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(lines[0] + lines[1].replace("ben", "bob") + lines[2])
    done = medley("audit", "verify")
    assert (done.exit_code, "BROKEN at access.log, line 2: record 2 was altered" in done.stdout) == (1, True)
    done = medley("audit", "verify", "--json")
    assert (done.exit_code, json.loads(done.stdout)["broken"]["line"]) == (1, 2)
    assert medley("audit", "verify", "--from", "3").exit_code == 0
    (home / "moved").write_text(lines[0] + lines[1])
    log.write_text(lines[2])
    assert medley("audit", "verify").exit_code == 1
    assert medley("audit", "verify", str(home / "moved")).exit_code == 0


@pytest.mark.parametrize("wrong", [("none.log",), ("--from", "0"), ("--from", "x")])
def test_a_wrong_argument_is_refused(medley, wrong):
    assert medley("audit", "verify", *wrong).exit_code == 2
