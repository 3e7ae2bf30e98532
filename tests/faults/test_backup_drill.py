"""The restore drill with real processes: a backup is taken while documents arrive and while processes are killed."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import fed
import pytest
from command_line import quick_command
from worker_process import eventually

from mappings.errors import NotFound
from search.bootstrap import Medley
from search.settings import Settings, read
from search.storage import State
from workers.backup.restore import CheckedBackup

ROOT = Path(__file__).parents[2]
PATHS = (ROOT, ROOT / "tests/services", ROOT / "tests/faults")

pytestmark = pytest.mark.slow


class Installation:
    """A home, on the embedded engine or on a cluster, and the processes that work on it."""

    def __init__(self, home: Path, url: str = "") -> None:
        self.home = home
        chosen = {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}
        if url:
            chosen |= {"MEDLEY_OPENSEARCH": url, "MEDLEY_OPENSEARCH_PREFIX": f"t{secrets.token_hex(5)}"}
        self.environ = os.environ | chosen | {"PYTHONPATH": os.pathsep.join(map(str, PATHS))}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a Python program."""
        return self._started([sys.executable, *arguments])

    def _started(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            env=self.environ,
            cwd=self.home.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of Medley."""
        return self.start("-m", "web.cli", *arguments, "--json")

    def run(self, *arguments: str) -> dict:
        """The report of a command, which must succeed."""
        return finished(self._started(quick_command(*arguments, "--json")))

    def open(self) -> Medley:
        """This installation in this process."""
        settings = read(self.environ, self.home.parent)
        assert isinstance(settings, Settings)
        return Medley.open(settings, patient=True)


def finished(process: subprocess.Popen[str]) -> dict:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, f"{out}\n{err}"
    return json.loads(out)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it ended by itself"


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def install(request, tmp_path):
    """Makes installations; what they leave on the cluster is removed."""
    made: list[Installation] = []

    def install(name: str) -> Installation:
        url = request.getfixturevalue("node").url if request.param == "opensearch" else ""
        made.append(Installation(tmp_path / name, url))
        return made[-1]

    yield install
    for each in made if request.param == "opensearch" else []:
        cluster = each.open().engine.cluster
        cluster.write("DELETE", f"/{cluster.prefix}.*")
        cluster.close()


def drill(installation: Installation, target: Path, log: Path) -> dict[str, int]:
    """Back up while a process feeds and is killed; what was acknowledged before the backup started."""
    feeder = installation.start(str(Path(fed.__file__)), str(log), "7")
    try:
        eventually(lambda: len(fed.acknowledged(log)) > 300 or feeder.poll() is not None, "documents are stored")
        assert feeder.poll() is None, feeder.communicate()
        before = fed.acknowledged(log)
        backup = installation.command("backup", str(target))
        eventually(lambda: list(target.parent.glob(".saved.unfinished-*")) or target.exists(), "the backup has begun")
    finally:
        kill(feeder)
    finished(backup)
    return before


def test_what_was_acknowledged_before_a_backup_is_found_after_a_restore(install, tmp_path):
    source, fresh, target = install("home"), install("fresh"), tmp_path / "saved"
    before = drill(source, target, tmp_path / "log")
    report = fresh.run("restore", str(target))
    assert [item["failed"] for item in report["collections"]] == [0]
    assert fresh.run("index", "verify", "notes")["problems"] == []
    medley = fresh.open()
    store, index = medley.collections.store("notes"), medley.engine.resolve("notes").index
    found = store.latest(list(before))
    assert {name: v for name, v in before.items() if name not in found or found[name].version < v} == {}
    living = {name for name, item in found.items() if item.document is not None}
    indexed = {record.id for record in store.states(index, State.INDEXED, 10**6) if record.passages}
    assert living <= indexed
    assert {document for document, _, _ in medley.engine.contents(index)} == indexed
    assert fresh.run("search", "heart", "-c", "notes")["total"]["value"] == len(indexed)


def test_a_killed_backup_is_never_taken_for_a_whole_one(install, tmp_path):
    source, target = install("home"), tmp_path / "saved"
    feeder = source.start(str(Path(fed.__file__)), str(tmp_path / "log"), "8")
    eventually(lambda: len(fed.acknowledged(tmp_path / "log")) > 200, "documents are stored")
    kill(feeder)
    backup = source.command("backup", str(target))
    eventually(lambda: list(tmp_path.glob(".saved.unfinished-*")) or target.exists(), "the backup has begun")
    backup.send_signal(signal.SIGKILL)
    backup.communicate()
    for left in tmp_path.glob(".saved.unfinished-*"):
        with pytest.raises(NotFound, match="not a finished backup"):
            CheckedBackup.open(left)
    if target.exists():  # it was faster
        CheckedBackup.open(target)
    else:
        source.run("backup", str(target))
    assert source.run("restore", str(target), "--check")["collections"][0]["collection"] == "notes"


def test_a_killed_restore_is_completed_by_the_next(install, tmp_path):
    source, fresh, target = install("home"), install("fresh"), tmp_path / "saved"
    drill(source, target, tmp_path / "log")
    for pause in (0.0, 0.05, 0.2):
        restore = fresh.command("restore", str(target))
        eventually(lambda: fresh.home.exists(), "the restore has begun")
        time.sleep(pause)
        restore.send_signal(signal.SIGKILL)
        restore.communicate()
        if restore.returncode == 0:
            break
    else:
        fresh.run("restore", str(target))
    assert fresh.run("index", "verify", "notes")["problems"] == []
    saved = CheckedBackup.open(target).manifest.collections["notes"]
    counts = fresh.open().collections.store("notes").counts("")
    assert (counts.documents, counts.deleted) == (saved.documents, saved.deleted)
