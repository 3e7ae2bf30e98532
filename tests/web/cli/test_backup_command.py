"""`medley backup` and `medley restore` as a user sees them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import quick_command

from web.access import tokens
from workers.messages import QueueTarget
from workers.queueing.queue import Queue

ROOT = Path(__file__).parents[3]
NOTES = [{"id": f"n{number}", "title": "Note", "text": "Heart failure.", "labels": ["ward"]} for number in range(3)]
SAVED = ["access.log", "access.log.head", "guarded", "tokens.json"]
Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.slow


def runner(folder: Path) -> Run:
    """Runs a command on the home of a name in `folder`."""
    given = os.environ | {"MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none", "PYTHONPATH": str(ROOT)}

    def run(*arguments: str, home: str = "home", redis_url: str = "") -> subprocess.CompletedProcess[str]:
        environ = given | {"MEDLEY_HOME": str(folder / home), "MEDLEY_REDIS": redis_url}
        return subprocess.run(quick_command(*arguments), capture_output=True, text=True, cwd=folder, env=environ)

    return run


@pytest.fixture
def medley(tmp_path) -> Run:
    return runner(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    medley = runner(folder)
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in NOTES))
    answer(medley("ingest", "in.jsonl", "-c", "notes", "--json"))
    answer(medley("delete", "n2", "-c", "notes", "--json"))
    tokens.add(folder / "home", "ada", ["ward"])
    answer(medley("backup", "saved", "--json"))
    return folder


@pytest.fixture
def saved(made, tmp_path) -> Path:
    """A backup of a home with three notes, one of them deleted, and a token."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "saved"


def answer(done: subprocess.CompletedProcess[str]) -> dict:
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def logged(home: Path) -> list[tuple[str, int]]:
    lines = map(json.loads, (home / "access.log").read_text().splitlines())
    return [(line["action"], line["status"]) for line in lines]


def test_an_installation_is_backed_up_restored_and_found(medley, saved, tmp_path):
    assert logged(tmp_path / "home")[-1] == ("backup", 200)
    report = answer(medley("restore", str(saved), "--json", home="new"))
    (restored,) = report["collections"]
    assert restored | {"seconds": 0} == {
        "collection": "notes", "documents": 2, "deleted": 1, "queued": False, "indexed": 3, "failed": 0,
        "failures": [], "seconds": 0,
    }  # fmt: skip
    assert report["home"] == {name: name for name in SAVED}
    found = answer(medley("search", "heart", "-c", "notes", "--json", home="new"))
    assert sorted(hit["document"] for hit in found["hits"]) == ["n0", "n1"]
    assert answer(medley("index", "verify", "notes", "--json", home="new"))["problems"] == []
    assert [token.user for token in tokens.list_tokens(tmp_path / "new")] == ["ada"]
    actions = [action for action, _ in logged(tmp_path / "new")]
    assert (actions[0], actions.count("backup"), actions[-2:]) == ("feed", 1, ["restore", "search"])


def test_no_secret_key_is_saved(saved, tmp_path):
    key = (tmp_path / "home/cursor.key").read_bytes()
    assert [path for path in saved.rglob("*") if path.is_file() and key in path.read_bytes()] == []
    assert sorted(path.name for path in (saved / "home").iterdir()) == SAVED


def test_rotated_logs_are_saved_and_locks_and_odd_names_are_not(medley, saved, tmp_path):
    for name in ("access.log.1", "access.log-2026-05-01.gz", "access.log.lock", "access.log copy", "access.logs\n"):
        (tmp_path / "home" / name).write_text("x")
    (tmp_path / "home/access.log.d").mkdir()
    report = answer(medley("backup", "second", "--json"))
    assert report["home"] == sorted([*SAVED, "access.log-2026-05-01.gz", "access.log.1"])
    assert medley("restore", "second", "--check").returncode == 0


def test_a_damaged_backup_creates_nothing(medley, saved, tmp_path):
    path = saved / "collections/notes/documents.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"\0\0")
    done = medley("restore", str(saved), home="new")
    assert (done.returncode, done.stdout) == (1, "")
    assert "documents.jsonl.gz is damaged" in done.stderr
    assert medley("restore", str(saved), "--check", home="new").returncode == 1
    assert not (tmp_path / "new").exists()


def test_a_backup_is_checked_without_restoring_it(medley, saved, tmp_path):
    done = medley("restore", str(saved), "--check", home="new")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "notes: 2 documents, 1 deleted"
    assert "is complete and undamaged" in done.stdout
    assert not (tmp_path / "new").exists()


def test_one_collection_is_restored_under_another_name_and_nothing_else(medley, saved, tmp_path):
    report = answer(medley("restore", str(saved), "-c", "notes", "--as", "notes-of-may", "--json"))
    assert ([item["collection"] for item in report["collections"]], report["home"]) == (["notes-of-may"], {})
    listed = answer(medley("status", "--json"))["collections"]
    assert [(item["collection"], item["documents"], item["indexed"]) for item in listed] == [
        ("notes", 2, 2),
        ("notes-of-may", 2, 2),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["restore", "saved"], "'notes' exists and has documents"),
        (["restore", "absent"], "not a finished backup"),
        (["restore", "saved", "-c", "letters"], "no collection 'letters'; it has: notes"),
        (["restore", "saved", "--as", "other"], "choose it with --collection"),
        (["restore", "saved", "-c", "notes", "--as", "../up"], "not a valid collection name"),
        (["restore", "saved", "-c", "notes", "--as", "x", "--queue"], "MEDLEY_REDIS"),
        (["backup", "saved"], "exists already"),
        (["backup", "absent/saved"], "does not exist"),
        (["backup", "new", "-c", "letters"], "no collection 'letters'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(medley, saved, arguments, message):
    done = medley(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert message in done.stderr


def test_the_workers_can_do_the_indexing(medley, saved, redis):
    done = answer(medley("restore", str(saved), "--queue", "--json", home="new", redis_url=redis.url))
    (restored,) = done["collections"]
    assert (restored["queued"], restored["indexed"]) == (True, 0)
    queue = Queue(redis.url)
    assert queue.depth(QueueTarget("notes")).queued == 3
    queue.close()


def test_the_text_says_what_was_restored(medley, saved):
    done = medley("restore", str(saved), "-c", "notes", "--as", "more", home="new")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("more: 2 documents restored; changes indexed in ")
