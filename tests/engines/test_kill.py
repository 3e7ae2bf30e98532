"""Real processes are killed: no accepted change is lost, none duplicated, no answer shows two versions."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import killed
import numpy as np
import pytest

from mappings.analysis.passages import passages
from mappings.documents import Access
from mappings.errors import NotFound
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.storage import State
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.inspection import verify

EVERYBODY = Access("tester", frozenset({"*"}))
KILLS = 50
LONGEST_SECONDS = 0.6

pytestmark = pytest.mark.slow


def start_one(nursery, home, mode: str, seed: int) -> int:
    """Start a child; its process id once it works."""
    (home / "ready").unlink(missing_ok=True)
    print(home, mode, seed, file=nursery.stdin, flush=True)
    child = int(nursery.stdout.readline())
    until = time.monotonic() + 60
    while not (home / "ready").exists() and time.monotonic() < until:
        time.sleep(0.002)
    return child


def kill_one(nursery, home, mode: str, seed: int, rng: random.Random) -> None:
    """Start a child, let it work for a random moment, kill it."""
    child = start_one(nursery, home, mode, seed)
    time.sleep(rng.uniform(0, LONGEST_SECONDS))
    os.kill(child, signal.SIGKILL)
    assert int(nursery.stdout.readline()) == -signal.SIGKILL, "the child ended by itself"


def ask(engine, index: str):
    vector = killed.ENCODERS["dense"].encode_queries(["heart"])[0]
    query = LexicalQuery((("heart", 1.0), ("note", 1.0)))
    return engine.legs(LegsRequest(index, query, {"dense": vector}, EVERYBODY, 10_000))


def check_answer(engine, store, index: str) -> dict[str, int]:
    """Document -> version, after checking that each leg shows every passage once, and one version of each document."""
    answer = ask(engine, index)
    versions: dict[str, int] = {}
    for leg in answer.rankings.values():
        counted = Counter(item.passage for item in leg)
        assert set(counted.values()) <= {1}
        found: dict[str, set[int]] = {}
        for item in leg:
            found.setdefault(item.document, set()).add(int(item.passage.rpartition("@")[2].partition("#")[0]))
        assert all(len(several) == 1 for several in found.values()), f"two versions in one answer: {found}"
        versions = {document: next(iter(several)) for document, several in found.items()}
        assert answer.total.value == len(versions)
    return versions


def check_whole(engine, store, index: str) -> None:
    """After recovery the index holds exactly the newest versions, with all their passages and their own vectors."""
    expected = {}
    for name, item in killed.stored(store).items():
        if item.document is not None:
            expected[name] = passages(item.document, item.version, killed.COLLECTION)
    assert check_answer(engine, store, index) == {name: parts[0].version for name, parts in expected.items()}
    every = {passage.id: passage for parts in expected.values() for passage in parts}
    leg = ask(engine, index).rankings["dense"]
    assert {item.passage for item in leg} == set(every)
    assert dict(engine.passages(index, list(every), EVERYBODY)) == every
    encoder = killed.ENCODERS["dense"]
    heart = encoder.encode_queries(["heart"])[0]
    wanted = encoder.encode_passages([every[item.passage].model_text for item in leg]) @ heart
    np.testing.assert_allclose([item.score for item in leg], wanted, atol=2e-3)
    assert verify(Indexer(store, engine, killed.ENCODERS, killed.COLLECTION), index) == []
    assert engine.file_problems(index) == [], "checksums that a kill left behind are completed"
    assert store.damage() == []


@pytest.fixture
def nursery():
    """The process that forks the children."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, killed.__file__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.stdin.close()


def test_fifty_kills_lose_and_duplicate_nothing(tmp_path, nursery):
    rng = random.Random(2026)
    before: dict[str, int] = {}
    interrupted = 0
    for number in range(KILLS):
        kill_one(nursery, tmp_path, ("ingest", "delete", "rebuild")[number % 3], number, rng)
        store, engine = killed.open_world(tmp_path)
        newest = {name: item.version for name, item in killed.stored(store).items()}
        lost = {name: v for name, v in (before | killed.accepted(tmp_path)).items() if newest.get(name, 0) < v}
        assert lost == {}, f"accepted and lost in kill {number}"
        before = newest
        interrupted += check_left(engine, store, number)
        list(ingest(Indexer(store, engine, killed.ENCODERS, killed.COLLECTION)))
        index = engine.resolve("notes").index
        assert store.states(index, State.FAILED) == []
        check_whole(engine, store, index)
    assert interrupted > KILLS / 4, "most kills interrupted no work, so they proved little"


def test_a_reader_follows_while_another_process_writes_and_rebuilds(tmp_path, nursery):
    (tmp_path / "collections" / "notes").mkdir(parents=True)
    child = start_one(nursery, tmp_path, "rebuild", 1)
    store, engine = killed.open_world(tmp_path)
    seen: set[str] = set()
    until = time.monotonic() + 20
    while len(seen) < 4 and time.monotonic() < until:
        try:
            index = engine.resolve("notes").index
            check_answer(engine, store, index)
        except NotFound:  # not published yet, or dropped since it was resolved
            continue
        seen.add(index)
    os.kill(child, signal.SIGKILL)
    assert int(nursery.stdout.readline()) == -signal.SIGKILL, "the child ended by itself"
    assert len(seen) >= 2


def test_files_that_another_process_writes_are_not_called_damaged(tmp_path, nursery):
    child = start_one(nursery, tmp_path, "ingest", 2)
    commits: set[int] = set()
    until = time.monotonic() + 20
    while len(commits) < 30 and time.monotonic() < until:
        _, engine = killed.open_world(tmp_path)  # a new one opens the index again, and compares a sample
        with suppress(NotFound):  # not published yet
            commits.add(engine.resolve("notes").commit)
            assert [item for item in engine.file_problems("notes-1") if item.is_damage] == []
    os.kill(child, signal.SIGKILL)
    assert int(nursery.stdout.readline()) == -signal.SIGKILL, "the child ended by itself"
    assert len(commits) >= 5


def check_left(engine, store, number: int) -> bool:
    """Check the answers before any recovery; returns whether the kill interrupted work."""
    try:
        index = engine.resolve("notes").index
    except NotFound:
        assert number == 0, "a published index is gone"
        return True
    check_answer(engine, store, index)
    return bool(store.pending(index, 1)) or len(engine.list("notes")) > 1
