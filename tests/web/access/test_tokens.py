"""Tokens are shown once, stored as hashes, and removed when revoked."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.errors import InvalidInput, NotFound, Unavailable
from web.access import tokens
from web.access.private_files import load_or_make_secret


def test_a_token_is_verified_and_its_secret_is_not_stored(tmp_path):
    text = tokens.add(tmp_path, "ada", ["clinical", "public"])
    prefix, identifier, secret = text.split("_", 2)
    assert (prefix, len(identifier), len(secret)) == ("medley", 12, 43)
    file = tmp_path / "tokens.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in file.read_text()
    found = tokens.verify(tokens.list_tokens(tmp_path), text)
    assert found is not None
    assert (found.user, found.labels) == ("ada", {"clinical", "public"})
    assert found.as_json() == {
        "id": identifier,
        "user": "ada",
        "labels": ["clinical", "public"],
        "writes": [],
        "operator": False,
        "created": found.created,
        "expires": None,
    }


@pytest.mark.parametrize(
    "change",
    [lambda t: t[:-1], lambda t: t + "x", lambda t: t.replace("medley", "other"), lambda t: "", lambda t: "_" * 9],
)
def test_an_altered_token_is_refused(tmp_path, change):
    text = tokens.add(tmp_path, "ada", ["*"])
    assert tokens.verify(tokens.list_tokens(tmp_path), change(text)) is None


@given(st.text(max_size=80))
@settings(max_examples=50)
def test_no_other_text_is_a_token(text):
    known = [tokens.ApiToken("abc", "ada", frozenset({"*"}), "now", "0" * 64)]
    assert tokens.verify(known, text) is None
    assert tokens.verify(known, f"medley_abc_{text}") is None


def test_a_secret_of_another_token_is_refused(tmp_path):
    first, second = (tokens.add(tmp_path, name, ["a"]) for name in ("ada", "ben"))
    mixed = "_".join([*first.split("_", 2)[:2], second.split("_", 2)[2]])
    assert tokens.verify(tokens.list_tokens(tmp_path), mixed) is None


def test_revoking_removes_one_token(tmp_path):
    first, second = (tokens.add(tmp_path, name, ["a"]) for name in ("ada", "ben"))
    gone = tokens.revoke(tmp_path, first.split("_")[1])
    assert gone.user == "ada"
    assert tokens.verify(tokens.list_tokens(tmp_path), first) is None
    assert tokens.verify(tokens.list_tokens(tmp_path), second) is not None
    with pytest.raises(NotFound, match="no token with the id"):
        tokens.revoke(tmp_path, "nobody")


def test_nothing_is_lost_when_several_add_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: tokens.add(tmp_path, f"user{number}", ["a"]), range(16)))
    assert {token.user for token in tokens.list_tokens(tmp_path)} == {f"user{number}" for number in range(16)}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("user", "labels", "field"),
    [
        ("", ["a"], "user"),
        (" ", ["a"], "user"),
        ("a\nb", ["a"], "user"),
        ("a" * 101, ["a"], "user"),
        ("ada", [], "labels"),
        ("ada", [""], "labels"),
        ("ada", ["a\x00"], "labels"),
    ],
)
def test_invalid_names_are_refused(tmp_path, user, labels, field):
    with pytest.raises(InvalidInput) as caught:
        tokens.add(tmp_path, user, labels)
    assert caught.value.field == field
    assert tokens.list_tokens(tmp_path) == ()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tokens": [{}]}', '{"tokens": 3}'])
def test_a_damaged_file_lets_nobody_in(tmp_path, content):
    (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(Unavailable, match=r"tokens\.json"):
        tokens.list_tokens(tmp_path)


def test_the_file_is_a_list_of_tokens_without_secrets(tmp_path):
    tokens.add(tmp_path, "ada", ["a"])
    (item,) = json.loads((tmp_path / "tokens.json").read_text())["tokens"]
    assert sorted(item) == ["created", "digest", "expires", "id", "labels", "operator", "user", "writes"]


def test_a_token_may_write_where_it_says(tmp_path):
    tokens.add(tmp_path, "feeder", ["none"], ["notes", "abstracts", "notes"])
    tokens.add(tmp_path, "ada", ["a"])
    feeder, ada = tokens.list_tokens(tmp_path)
    assert (feeder.writes, ada.writes) == ({"notes", "abstracts"}, frozenset())
    assert feeder.as_json()["writes"] == ["abstracts", "notes"]


def test_a_token_of_an_earlier_version_only_reads(tmp_path):
    tokens.add(tmp_path, "ada", ["a"], ["*"])
    file = tmp_path / "tokens.json"
    kept = json.loads(file.read_text())
    del kept["tokens"][0]["writes"]
    file.write_text(json.dumps(kept))
    (token,) = tokens.list_tokens(tmp_path)
    assert token.writes == frozenset()


@pytest.mark.parametrize("name", ["", "Notes", "a b", "a" * 64, "notes,abstracts"])
def test_an_invalid_collection_name_gives_no_right(tmp_path, name):
    with pytest.raises(InvalidInput) as caught:
        tokens.add(tmp_path, "ada", ["a"], [name])
    assert caught.value.field == "writes"
    assert tokens.list_tokens(tmp_path) == ()


def test_one_secret_for_all_processes(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: load_or_make_secret(tmp_path / "a" / "session.key"), range(16)))
    assert len(made) == 1
    assert stat.S_IMODE((tmp_path / "a" / "session.key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["session.key"]


def test_a_damaged_secret_is_refused(tmp_path):
    (tmp_path / "session.key").write_bytes(b"short")
    with pytest.raises(Unavailable, match=r"session\.key is damaged"):
        load_or_make_secret(tmp_path / "session.key")
