"""`medley kept` as an operator uses it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from command_line import quick_command

from mappings.documents import Access
from search.bootstrap import Medley
from search.kept.items import KeptDraft, KeptItem
from search.settings import Settings

ROOT = Path(__file__).parents[3]
ANN, BOB = (Access(name, frozenset({"study"})) for name in ("ann", "bob"))


@pytest.fixture
def medley(tmp_path):
    settings = {"MEDLEY_HOME": str(tmp_path / "home"), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            quick_command("kept", *arguments),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | settings | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def items(tmp_path) -> list[KeptItem]:
    """A bundle and a cohort of Ann's, and a bundle of Bob's, in the home."""
    opened = Medley.open(Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none"))
    drafts = [
        (ANN, KeptDraft("cohort", "marked-cohort", {"text": "marked-content"})),
        (ANN, KeptDraft("bundle", "marked-bundle", {"terms": ["marked-term"]}, "", frozenset({"study"}))),
        (BOB, KeptDraft("bundle", "of Bob", {"terms": []})),
    ]
    return [opened.kept.add(access, draft) for access, draft in drafts]


def answer(done: subprocess.CompletedProcess[str]) -> dict:
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def logged(tmp_path: Path) -> list[tuple[str, dict, int]]:
    lines = map(json.loads, (tmp_path / "home/access.log").read_text().splitlines())
    return [(line["action"], line["asked"], line["status"]) for line in lines]


def test_everything_that_users_keep_is_listed(medley, items):
    found = answer(medley("list", "--json"))["items"]
    assert [(item["id"], item["user"]) for item in found] == [
        (items[1].id, "ann"),
        (items[0].id, "ann"),
        (items[2].id, "bob"),
    ]
    assert answer(medley("list", "--user", "bob", "--json"))["items"] == found[2:]
    assert found[0] == {
        "id": items[1].id,
        "user": "ann",
        "kind": "bundle",
        "name": "marked-bundle",
        "collection": "",
        "shared_with": ["study"],
        "revision": 1,
        "created": found[0]["created"],
        "changed": found[0]["created"],
    }
    head, _, *rows = medley("list").stdout.splitlines()
    assert head.split() == ["id", "user", "kind", "name", "collection", "shared_with", "changed"]
    assert [row.split()[0] for row in rows] == [item["id"] for item in found]


def test_an_item_is_shown_and_deleted_whoever_keeps_it(medley, items, tmp_path):
    assert answer(medley("show", items[0].id))["content"] == {"text": "marked-content"}
    assert answer(medley("delete", items[0].id, "--json")) == {"deleted": items[0].id}
    for command in ("show", "delete"):
        done = medley(command, items[0].id)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"there is no kept item '{items[0].id}'" in done.stderr
    asked = {"item": items[0].id}
    assert logged(tmp_path) == [
        ("kept read", asked, 200),
        ("kept delete", asked, 200),
        ("kept read", asked, 404),
        ("kept delete", asked, 404),
    ]


def test_one_command_erases_all_that_a_user_keeps(medley, items, tmp_path):
    done = medley("purge", "ann")
    assert done.returncode == 1
    assert "confirm it with --yes" in done.stderr
    assert len(answer(medley("list", "--json"))["items"]) == 3
    assert answer(medley("purge", "ann", "--yes", "--json")) == {"user": "ann", "items": 2}
    assert [item["user"] for item in answer(medley("list", "--json"))["items"]] == ["bob"]
    left = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert b"of Bob" in left
    assert b"marked" not in left
    purges = [line for line in logged(tmp_path) if line[0].startswith("kept purge")]
    assert purges == [("kept purge", {"user": "ann"}, 200), ("kept purged", {"user": "ann", "items": 2}, 200)]
    assert medley("purge", "ann", "--yes").stdout == "0 kept items of ann removed for ever\n"


def test_nothing_is_kept_yet(medley, tmp_path):
    assert medley("list").stdout == "nothing is kept yet\n"
    assert answer(medley("purge", "ann", "--yes", "--json")) == {"user": "ann", "items": 0}
    assert not (tmp_path / "home/kept.sqlite").exists()


def test_nobody_else_on_the_machine_can_read_the_file(medley, tmp_path):
    (tmp_path / "home").mkdir(mode=0o700)
    medley("delete", "0" * 16)
    files = list((tmp_path / "home").glob("kept.sqlite*"))
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
