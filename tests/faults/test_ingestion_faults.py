"""Ingestion while workers, Redis and the cluster are killed: what was accepted is there once, and nothing else is.

The long form takes minutes for each of its seeds, and runs where MEDLEY_TEST_LONG=1.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from backends import EVERYBODY
from ingestion import Feeder, Plan
from opensearch_node import Node
from redis_server import Redis
from worker_process import Worker, eventually

from mappings.analysis.words import terms
from mappings.documents import Document
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.settings import Settings
from search.storage import State
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect
from workers.messages import QueueTarget
from workers.queueing.queue import Queue

pytestmark = pytest.mark.slow
long = pytest.mark.skipif(not os.environ.get("MEDLEY_TEST_LONG"), reason="run with MEDLEY_TEST_LONG=1 alone")

ALL = 10**6
SAMPLE = 60


class House:
    """The gateway's side of an installation, its services, and two workers; each of them can be killed."""

    def __init__(self, folder: Path, redis: Redis, node: Node | None, processes: int) -> None:
        settings = {"home": str(folder / "home"), "encoder": "hashing-256", "reranker": "none", "redis": redis.url}
        if node is not None:
            settings["opensearch"] = node.url
        self.redis, self.node = redis, node
        self.medley = Medley.open(Settings(**{**settings, "home": folder / "home"}), patient=True)
        self.medley.collections.create("notes")
        self.store = self.medley.collections.store("notes")
        self.queue = Queue(redis.url)
        arguments = ("--processes", str(processes))
        self.workers = [Worker(folder / f"worker-{number}", settings, arguments) for number in range(2)]

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
        self.queue.close()

    def kill(self, what: str, rng: random.Random) -> None:
        """Kill a process with `kill -9`, and restart it; a node is waited for now, or when the next one is killed."""
        worker = rng.choice(self.workers)
        if what in ("child", "main"):
            self.await_work(rng)
        if what == "child":
            for each in self.workers:  # whichever is working
                each.kill(*rng.sample(found := each.children(), min(1, len(found))))
        elif what == "main":
            worker.kill()
        elif what == "flush":
            self.redis.flush()
        elif what == "redis":
            self.redis.kill()
            time.sleep(rng.uniform(0.1, 1.0))
            self.redis.start()
        elif what == "node" and self.node is not None:
            self.node.wait()
            self.node.kill()
            self.node.start(wait=rng.random() < 0.5)
        for dead in self.workers:
            if dead.process.poll() is not None:
                dead.start()

    def await_work(self, rng: random.Random) -> None:
        """Return while a worker has claimed something, if one does within a second."""
        until = time.monotonic() + 1.0
        with suppress(Unavailable):
            while not self.queue.depth(QueueTarget("notes")).claimed and time.monotonic() < until:
                time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.03))

    def deaths(self) -> int:
        """How often a process died over a message."""
        return sum(worker.log.count("raised error: WorkerLostError") for worker in self.workers)

    def waiting(self) -> int:
        """How many changes are pending."""
        return len(self.store.pending(self.medley.engine.published("notes") or "", ALL))

    def describe(self) -> str:
        """What can explain why there is no progress."""
        logs = "\n".join(worker.log[-3_000:] for worker in self.workers)
        return f"{self.waiting()} pending; {self.queue.depth(QueueTarget('notes'))}\n{logs}"

    def found(self, word: str) -> list[str]:
        """The documents that contain a word."""
        lexical = LexicalQuery(tuple((term, 1.0) for term in terms(word)))
        request = LegsRequest(self.medley.engine.resolve("notes").index, lexical, {}, EVERYBODY, 10)
        return sorted({item.document for item in self.medley.engine.legs(request).rankings["bm25"]})


@contextmanager
def built(folder: Path, redis: Redis, node: Node | None, processes: int) -> Iterator[House]:
    made = House(folder, redis, node, processes)
    try:
        for worker in made.workers:
            worker.start()
        yield made
    finally:
        made.end()


def survive(house: House, plan: Plan, seconds: float) -> None:
    """Feed and kill by the plan; then wait until nothing is pending, and check everything."""
    rng = random.Random(plan.seed)
    feeder = Feeder(house.store, house.queue, plan, pause=1.2 * len(plan.kills) * plan.batch / (1.2 * plan.documents))
    try:
        for what in plan.kills:
            time.sleep(rng.uniform(0.4, 1.6))
            house.kill(what, rng)
        if house.node is not None:
            house.node.wait()
        feeder.finish(seconds)
    finally:
        feeder.stop()
    eventually(lambda: not house.waiting(), "nothing is pending any more", seconds, house.describe)
    assert problems(house, feeder, rng) == []
    assert house.deaths(), "no kill interrupted any work: they proved nothing"


def problems(house: House, feeder: Feeder, rng: random.Random) -> list[str]:
    """Everything that is not as it was accepted."""
    index, accounts = house.medley.engine.resolve("notes").index, feeder.accounts
    alive = sorted((name, version) for name, _, version in accounts.alive())
    held = sorted((name, version) for name, version, _ in house.medley.engine.contents(index))
    found = [f"the index holds {item}" for item in held if item not in set(alive)]
    found += [f"the index lacks {item}" for item in alive if held.count(item) != 1]
    latest = house.store.latest(sorted(accounts.last))
    for name, (record, version) in accounts.last.items():
        content = record.change if isinstance(record.change, Document) else None
        if (latest[name].version, latest[name].document) != (version, content):
            found.append(f"the store has another version of {name}")
    found += wrong_failures(house, index, accounts.failed())
    discrepancies = inspect(Indexer.of(house.medley, "notes"))
    found += [str(item) for item in discrepancies if not item.problem.endswith("documents failed")]
    every = [(record.word, [name]) for name, record, _ in accounts.alive()]
    old = [(word, []) for word in accounts.superseded]
    old += [(record.word, []) for record, _ in accounts.last.values() if record.cause]
    for word, wanted in rng.sample(every, SAMPLE) + rng.sample(old, min(SAMPLE, len(old))):
        if house.found(word) != wanted:
            found.append(f"{word} finds {house.found(word)}, not {wanted}")
    return found


def wrong_failures(house: House, index: str, expected: dict[str, str]) -> list[str]:
    failed = {record.id: record.cause for record in house.store.states(index, State.FAILED, ALL)}
    found = [f"{name} did not fail" for name in expected if name not in failed]
    found += [f"{name} failed: {cause}" for name, cause in failed.items() if expected.get(name, "\0") not in cause]
    return found


def test_nothing_accepted_is_lost_or_doubled_while_workers_redis_and_the_node_are_killed(tmp_path, redis, own_node):
    with built(tmp_path, redis, own_node, processes=1) as house:
        survive(house, Plan.of(1, 400, 20, 40, child=5, main=3, redis=2, flush=1, node=1), seconds=90)


def test_nothing_accepted_is_lost_or_doubled_on_the_embedded_engine(tmp_path, redis):
    with built(tmp_path, redis, None, processes=1) as house:
        survive(house, Plan.of(2, 400, 20, 40, child=6, main=3, redis=2, flush=1), seconds=60)


@long
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_the_long_form(tmp_path, redis, own_node, seed):
    with built(tmp_path, redis, own_node, processes=2) as house:
        survive(house, Plan.of(seed, 5_000, 50, 200, child=20, main=10, redis=8, flush=1, node=4), seconds=300)
