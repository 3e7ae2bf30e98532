"""Processes that delete or rename a collection are killed at random moments: repeated, the command always completes."""

import json
import random
import time

import pytest
from command_line import medley, start

KILLS = 5


@pytest.fixture
def home(tmp_path):
    """A home with a collection of a thousand documents under a mistyped name."""
    words = ["asthma", "fever", "cough", "heart", "lung", "aspirin", "placebo"]
    lines = [{"id": f"d{number}", "text": " ".join(random.choices(words, k=40))} for number in range(1_000)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = medley(tmp_path / "home", "ingest", str(tmp_path / "in.jsonl"), "-c", "jurnal", "--kind", "abstracts")
    assert done.returncode == 0, done.stderr
    return tmp_path / "home"


def interrupted(home, *command):
    """Run a command several times and kill it, later each time; the last is left to finish."""
    for number in range(KILLS):
        process = start(home, "collection", *command, "--yes")
        time.sleep(0.05 + number * 0.15 + random.random() * 0.15)
        process.kill()
        process.communicate()
        if process.returncode == 0:
            return None
    return medley(home, "collection", *command, "--yes")


def collections(home):
    return json.loads(medley(home, "collection", "list", "--json").stdout)


@pytest.mark.slow
def test_a_killed_deletion_leaves_nothing_once_it_is_repeated(home):
    done = interrupted(home, "delete", "jurnal")
    assert done is None or done.returncode == 0 or "there is no collection 'jurnal'" in done.stderr
    assert collections(home) == {"collections": [], "unfinished": []}
    assert [path.name for path in (home / "collections").iterdir() if path.name[0] != "."] == []


@pytest.mark.slow
def test_a_killed_rename_loses_nothing_once_it_is_repeated(home):
    done = interrupted(home, "rename", "jurnal", "journal")
    assert done is None or done.returncode == 0 or "did you mean 'journal'" in done.stderr
    found = collections(home)
    assert [(item["collection"], item["documents"], item["indexed"]) for item in found["collections"]] == [
        ("journal", 1_000, 1_000)
    ]
    assert found["unfinished"] == []
    assert [path.name for path in (home / "collections").iterdir() if path.name[0] != "."] == ["journal"]
    assert medley(home, "index", "verify", "journal").returncode == 0
