"""`medley worker` as a process: what it does with what it is sent, and with its own death."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from quick_worker import KILLS, SLOW
from worker_process import Worker, eventually, working
from worlds import note

from mappings.errors import InvalidInput
from search.bootstrap import Medley
from search.settings import Settings
from search.storage import State
from web.cli.main import cli
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect
from workers.messages import QueueTarget
from workers.queueing.app import PARSE, PARSE_TASK
from workers.queueing.queue import Queue

pytestmark = pytest.mark.slow

NOTES = QueueTarget("notes")


class House:
    """A home, its queue, and the settings of the workers that serve it."""

    def __init__(self, home: Path, url: str) -> None:
        self.folder = home
        self.settings = {"home": str(home / "home"), "redis": url, "encoder": "hashing-256", "reranker": "none"}
        self.medley = Medley.open(Settings(home=home / "home", encoder="hashing-256", reranker="none"))
        self.medley.collections.create("notes")
        self.queue = Queue(url)

    def deliver(self, *changes, request: str = "") -> None:
        Delivery(self.medley.collections.store("notes"), "notes", self.queue, request).accept(changes)

    def states(self, state: State) -> dict[str, str]:
        """Id -> cause of the documents in a state."""
        index = self.medley.engine.published("notes") or ""
        return {item.id: item.cause for item in self.medley.collections.store("notes").states(index, state, 10_000)}

    def settled(self, count: int):
        """Whether so many documents are settled, and none waits."""
        return lambda: (
            not self.states(State.RECEIVED)
            and len(self.states(State.INDEXED)) + len(self.states(State.FAILED)) == count
        )

    def findings(self) -> list[str]:
        return [item.problem for item in inspect(Indexer.of(self.medley, "notes"))]

    def worker(self, *arguments: str):
        return working(self.folder / "worker", self.settings, *arguments)


@pytest.fixture
def house(tmp_path, redis):
    made = House(tmp_path, redis.url)
    yield made
    made.queue.close()


def titled(name: str, word: str):
    """A note whose title holds a word that decides what becomes of the worker."""
    return note(name, f"heart {word}")


def test_what_is_delivered_is_indexed_and_the_log_names_the_request(house):
    with house.worker() as worker:
        house.deliver(note("a"), note("b", date="yesterday"), request="req-17")
        eventually(house.settled(2), "both documents are settled", told=lambda: worker.log)
        assert list(house.states(State.INDEXED)) == ["a"]
        line = "request req-17: notes: 2 of 2 documents settled"
        eventually(lambda: line in worker.log, line, told=lambda: worker.log)
        assert "request req-17: notes: b version 1 failed: " in worker.log
        assert worker.stop() == 0
    assert house.findings() == ["1 documents failed"]


def test_a_file_is_read_by_the_worker_that_serves_files(house):
    file = house.folder / "some.jsonl"
    lines = [{"id": f"n{number}", "text": "Heart failure."} for number in range(3)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    house.queue.send_task(PARSE_TASK, "notes", str(file), "jsonl", queue=PARSE)
    with house.worker("--queues", "parse", "--no-sweep") as worker:
        eventually(lambda: house.queue.depth(NOTES).queued == 3, "the file is read", told=lambda: worker.log)
        assert worker.stop() == 0
    assert len(house.states(State.RECEIVED)) == 3
    with house.worker("--queues", "encode") as worker:
        eventually(house.settled(3), "the documents are indexed", told=lambda: worker.log)


def test_a_document_that_kills_its_worker_fails_alone_and_its_companions_are_indexed(house):
    with house.worker() as worker:
        house.deliver(note("before"), note("killer"))
        eventually(house.settled(2), "the first versions are indexed", told=lambda: worker.log)
        main_process = worker.process.pid
        house.deliver(
            *(titled("killer" if number == 17 else f"n{number}", KILLS if number == 17 else "") for number in range(30))
        )
        # Celery sees some deaths only when it looks after its processes, every 5 s.
        eventually(house.settled(31), "all are settled", 120.0, told=lambda: worker.log)
        assert worker.process.poll() is None
        assert worker.process.pid == main_process
    assert house.states(State.FAILED) == {"killer": "a worker died 2 times while it was indexing this document alone"}
    assert house.findings() == ["1 documents failed"]


def test_a_worker_that_is_asked_to_end_finishes_what_is_under_way(house):
    with house.worker() as worker:
        house.deliver(titled("a", SLOW))
        eventually(lambda: house.queue.depth(NOTES).claimed, "the worker has claimed it", told=lambda: worker.log)
        house.deliver(titled("b", SLOW))
        assert worker.stop() == 0
        assert list(house.states(State.INDEXED)) == ["a"]
        assert house.queue.depth(NOTES).claimed == 0
        assert "Traceback" not in worker.log
        worker.start()
        eventually(house.settled(2), "the next one claims what is queued", told=lambda: worker.log)


def test_what_a_killed_worker_had_claimed_is_indexed_by_another(house):
    with house.worker() as worker:
        house.deliver(titled("a", SLOW))
        eventually(lambda: house.queue.depth(NOTES).claimed, "the worker has claimed it", told=lambda: worker.log)
        worker.kill()
        assert not house.settled(1)()
        worker.start()
        eventually(house.settled(1), "the claim of the dead one expires", told=lambda: worker.log)


def test_no_process_outlives_a_killed_worker(house):
    with house.worker("--processes", "2") as worker:
        children = eventually(lambda: len(found := worker.children()) == 2 and found, "there are two processes")
        worker.kill()
        eventually(lambda: not any(map(alive, children)), "both ended")


def test_whichever_process_of_a_worker_dies_what_is_orphaned_is_found(house):
    with house.worker("--processes", "2") as worker:
        house.deliver(note("first"))
        eventually(house.settled(1), "the worker works", told=lambda: worker.log)
        children = worker.children()
        worker.kill(*children)
        eventually(lambda: len(set(worker.children()) - set(children)) == len(children), "there are others")
        house.medley.collections.store("notes").put([note("never announced")])
        eventually(house.settled(2), "the sweeper goes on", told=lambda: worker.log)


def test_a_worker_goes_on_after_redis_was_away(house, redis):
    with house.worker() as worker:
        house.deliver(note("a"))
        eventually(house.settled(1), "the worker works", told=lambda: worker.log)
        redis.kill()
        house.deliver(note("b"))
        redis.start()
        eventually(house.settled(2), "what came meanwhile is found", told=lambda: worker.log)
        assert worker.stop() == 0


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()


@pytest.mark.parametrize(("queues", "named"), [("encode,decode", "not decode"), (" , ", "not nothing")])
def test_a_worker_refuses_a_queue_that_it_does_not_know(queues, named):
    with pytest.raises(InvalidInput, match=named):
        cli.main(["worker", "--queues", queues], standalone_mode=False)


def test_a_worker_without_a_redis_says_which_setting_names_one():
    with pytest.raises(InvalidInput, match="MEDLEY_REDIS"):
        cli.main(["worker"], standalone_mode=False)


def test_an_interrupt_ends_a_worker_too(house):
    with house.worker() as worker:
        house.deliver(titled("a", SLOW))
        eventually(lambda: house.queue.depth(NOTES).claimed, "the worker has claimed it", told=lambda: worker.log)
        worker.process.send_signal(signal.SIGINT)
        worker.process.wait(30)
        assert list(house.states(State.INDEXED)) == ["a"]
        assert "Traceback" not in worker.log


def test_a_worker_waits_for_a_redis_that_is_not_there_yet(house, redis):
    redis.kill()
    worker = Worker(house.folder / "early", house.settings)
    try:
        worker.start()
        eventually(lambda: "Error" in worker.log or "Cannot connect" in worker.log, "it says what it waits for")
        assert worker.process.poll() is None
        redis.start()
        house.deliver(note("a"))
        eventually(house.settled(1), "it begins when Redis is there", told=lambda: worker.log)
    finally:
        worker.end()
