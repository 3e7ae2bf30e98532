"""A process that wrote leaves a store whose main file is complete, although others still have it open."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from search.engines.embedded.store import EmbeddedStore

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TEXT = b'{"id": "a", "text": "Aspirin lowered mortality."}\n'


@pytest.fixture
def home(tmp_path):
    """A home whose store another process, this one, has open."""
    run(tmp_path, "index", "create", "abstracts")
    return tmp_path


def environ(home):
    settings = {"MEDLEY_HOME": str(home), "MEDLEY_ENCODER": "hashing-256", "MEDLEY_RERANKER": "none"}
    return os.environ | settings | {"PYTHONPATH": str(ROOT)}


def run(home, *arguments):
    command = [sys.executable, "-m", "web.cli", *arguments]
    return subprocess.run(command, env=environ(home), cwd=ROOT, check=True, capture_output=True)


def store(home):
    return home / "collections" / "abstracts" / "store.sqlite"


@contextmanager
def connected(home):
    """Another connection: while there is one, SQLite itself leaves the log where it is."""
    with closing(sqlite3.connect(store(home))) as other:
        other.execute("SELECT COUNT(*) FROM versions").fetchall()
        yield other


def check(home, tmp_path):
    """A copy of the main file alone holds the document, and the log holds nothing."""
    log = store(home).with_name("store.sqlite-wal")
    assert not log.exists() or log.stat().st_size == 0
    copied = tmp_path / "copied"
    copied.mkdir()
    shutil.copy(store(home), copied)
    assert EmbeddedStore(copied).latest(["a"])["a"].document is not None


def test_a_command_that_wrote(home, tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_bytes(TEXT)
    with connected(home):
        run(home, "ingest", str(file), "-c", "abstracts")
        check(home, tmp_path)


def test_a_command_does_not_fail_while_others_read(home, tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_bytes(TEXT)
    with connected(home) as other:
        other.execute("BEGIN")
        other.execute("SELECT COUNT(*) FROM versions").fetchall()  # holds the log while the command writes
        started = time.monotonic()
        run(home, "ingest", str(file), "-c", "abstracts")
        assert time.monotonic() - started < 40  # it does not wait for them, either


def test_a_gateway_that_was_stopped(home, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "web.cli", "serve", "--port", str(port), "--workers", "2"]
    process = subprocess.Popen(command, cwd=ROOT, env=environ(home), stderr=subprocess.PIPE, text=True)
    with connected(home):
        address = f"http://127.0.0.1:{port}/v1/documents?collection=abstracts"
        request = urllib.request.Request(address, TEXT, {"Content-Type": "application/x-ndjson"})
        until = time.monotonic() + 60
        answered = False
        while not answered and time.monotonic() < until:
            with suppress(OSError), urllib.request.urlopen(request, timeout=60) as answer:
                answered = answer.status == 200
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert answered, errors
        assert "Traceback" not in errors
        check(home, tmp_path)
