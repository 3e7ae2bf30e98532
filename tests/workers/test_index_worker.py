"""What a worker does with a message, without a worker: it indexes, it splits what killed one, it reads files."""

from __future__ import annotations

import json
import logging

import pytest
from redis_server import sent
from worker_process import eventually
from worlds import note

from encoders.hashing import HashingEncoder
from mappings.errors import InvalidInput, Unavailable
from search.storage import State
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect
from workers.indexing.recovery import SPLIT
from workers.messages import QueueTarget
from workers.queueing import queue as queue_module
from workers.queueing import worker as module
from workers.queueing.worker import DEATHS

NOTES = QueueTarget("notes")


def put(worker, *documents) -> None:
    worker.medley.collections.store("notes").put(documents)


def states(worker, state: State) -> dict[str, int]:
    """Id -> version of the documents in a state."""
    index = worker.medley.engine.resolve("notes").index
    return {record.id: record.version for record in worker.medley.collections.store("notes").states(index, state)}


def discrepancies(worker) -> list[str]:
    return [item.problem for item in inspect(Indexer.of(worker.medley, "notes"))]


def begin(worker, task: str, ids, times: int) -> None:
    """Let a task have begun so often, each time to the death of its worker."""
    version = worker._pending_version(NOTES, ids[0]) if len(ids) == 1 else 0
    for _ in range(times):
        worker.queue.count_start(f"{task}:{version}" if version else task)


def test_announced_documents_are_indexed_and_released(worker, client):
    put(worker, note("a"), note("b"), note("c"))
    worker.queue.announce(NOTES, ["a", "b"])
    worker.index(NOTES, ["a", "b"], "t")
    assert states(worker, State.INDEXED) == {"a": 1, "b": 1}
    assert states(worker, State.RECEIVED) == {"c": 1}
    depth = worker.queue.depth(NOTES)
    assert (depth.queued, depth.claimed) == (0, 0)
    assert client.keys("medley:starts:*") == []


def test_the_figures_of_a_worker_are_shown(worker):
    put(worker, note("a"), note("b", date="yesterday"))
    worker.index(NOTES, ["a", "b"], "t")
    (figures,) = worker.queue.reports().values()
    assert (figures["documents"], figures["failed"]) == (2, 1)


def test_a_failure_is_logged(worker, caplog):
    put(worker, note("b", date="yesterday"))
    with caplog.at_level(logging.INFO, "medley.worker"):
        worker.index(NOTES, ["b"], "t")
    assert "notes: b version 1 failed: " in caplog.text
    assert "notes: 1 of 1 documents settled in " in caplog.text


def test_a_message_that_comes_twice_does_nothing_the_second_time(worker):
    put(worker, note("a"))
    worker.index(NOTES, ["a"], "t")
    worker.index(NOTES, ["a"], "t")
    worker.index(NOTES, ["a"], "another")
    assert worker.statistics.documents == 1


def test_what_a_worker_died_over_is_split(worker, client, caplog):
    ids = [f"n{number}" for number in range(20)]
    put(worker, *map(note, ids))
    begin(worker, "t", ids, 1)
    worker.index(NOTES, ids, "t")
    assert sent(client) == [["notes", ids[start : start + 3]] for start in range(0, 20, 3)]
    assert len(sent(client)) <= SPLIT
    assert "its worker died" in caplog.text
    assert worker.statistics.documents == 0
    assert worker.queue.find_orphaned(NOTES, ids) == []
    assert client.keys("medley:starts:*") == []


def test_parts_are_sent_also_for_what_was_announced_again_meanwhile(worker, client):
    put(worker, note("a"), note("b"))
    begin(worker, "t", ["a", "b"], 1)
    worker.queue.announce(NOTES, ["a", "b"])
    worker.index(NOTES, ["a", "b"], "t")
    assert sent(client) == [["notes", ["a", "b"]], ["notes", ["a"]], ["notes", ["b"]]]


def test_a_document_alone_is_tried_again_after_a_death(worker):
    put(worker, note("a"))
    begin(worker, "t", ["a"], DEATHS - 1)
    worker.index(NOTES, ["a"], "t")
    assert states(worker, State.INDEXED) == {"a": 1}


def test_a_document_that_killed_its_worker_alone_fails_and_its_earlier_version_goes(worker, client):
    put(worker, note("a"), note("b"))
    worker.index(NOTES, ["a", "b"], "t")
    put(worker, note("a", "kidney"))
    begin(worker, "t", ["a"], DEATHS)
    worker.index(NOTES, ["a"], "t")
    index = worker.medley.engine.resolve("notes").index
    (record,) = worker.medley.collections.store("notes").states(index, State.FAILED)
    assert (record.id, record.version) == ("a", 2)
    assert record.cause == "a worker died 2 times while it was indexing this document alone"
    assert states(worker, State.INDEXED) == {"b": 1}
    assert discrepancies(worker) == ["1 documents failed"]
    assert client.keys("medley:starts:*") == []


def test_a_newer_version_is_not_to_blame_for_what_an_older_one_did(worker):
    put(worker, note("a"), note("b"))
    begin(worker, "t", ["a"], DEATHS)
    put(worker, note("a", "mended"))
    worker.medley.collections.store("notes").delete(["b"])
    worker.index(NOTES, ["a"], "t")
    worker.index(NOTES, ["b"], "t")
    assert states(worker, State.FAILED) == {}
    assert discrepancies(worker) == []


def test_a_version_that_came_while_it_was_given_up_stays_pending(worker, monkeypatch):
    put(worker, note("a"), note("b"))
    worker.index(NOTES, ["b"], "t")
    begin(worker, "t", ["a"], DEATHS)
    version = worker._pending_version

    def overtaken(target, identifier):
        monkeypatch.setattr(worker, "_pending_version", version)
        found = version(target, identifier)
        put(worker, note("a", "mended"))
        return found

    monkeypatch.setattr(worker, "_pending_version", overtaken)
    worker.index(NOTES, ["a"], "t")
    assert states(worker, State.FAILED) == {}
    assert states(worker, State.RECEIVED) == {"a": 2}


def test_what_can_not_be_done_now_stays_pending_and_is_released(worker, monkeypatch):
    def down(self, texts):
        raise Unavailable("the model server does not answer")

    monkeypatch.setattr(HashingEncoder, "encode_passages", down)
    put(worker, note("a"))
    worker.queue.announce(NOTES, ["a"])
    with pytest.raises(Unavailable):
        worker.index(NOTES, ["a"], "t")
    assert states(worker, State.RECEIVED) == {"a": 1}
    assert worker.queue.find_orphaned(NOTES, ["a"]) == ["a"]


def test_a_worker_renews_its_claim_while_it_works(worker, client, monkeypatch):
    monkeypatch.setattr(module, "_RENEW_SECONDS", 0.01)
    encode = HashingEncoder.encode_passages

    def slowly(self, texts):
        client.zadd("medley:taken:notes", {"a": 1.0})
        eventually(lambda: client.zscore("medley:taken:notes", "a") > 1.0, "the claim is renewed")
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode_passages", slowly)
    put(worker, note("a"))
    worker.index(NOTES, ["a"], "t")
    assert states(worker, State.INDEXED) == {"a": 1}


def test_redis_that_goes_away_meanwhile_does_not_undo_the_work(worker, redis, monkeypatch):
    encode = HashingEncoder.encode_passages

    def robbed(self, texts):
        redis.kill()
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode_passages", robbed)
    put(worker, note("a"))
    with pytest.raises(Unavailable, match="Redis"):
        worker.index(NOTES, ["a"], "t")
    assert states(worker, State.INDEXED) == {"a": 1}


def test_a_file_is_read_into_the_store_and_announced(worker, client, tmp_path, caplog):
    file = tmp_path / "some.jsonl"
    lines = [{"id": "a", "text": "Heart failure."}, {"text": "of nobody"}, {"id": "b", "text": "Lung edema."}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with caplog.at_level(logging.INFO, "medley.worker"):
        worker.parse("notes", str(file), "jsonl")
    assert sent(client) == [["notes", ["a", "b"]]]
    store = worker.medley.collections.store("notes")
    assert sorted(store.latest(["a", "b"])) == ["a", "b"]
    (name,) = {word.rstrip(":") for word in caplog.text.split() if word.startswith("notes.")}
    job = store.job(name)
    assert (job.accepted, job.rejected, job.finished > 0) == (2, 1, True)
    assert f"notes: rejected {file}, line 2: " in caplog.text


def test_a_file_that_is_not_there_is_refused(worker, tmp_path):
    with pytest.raises(InvalidInput):
        worker.parse("notes", str(tmp_path / "none.jsonl"), "jsonl")


def test_workers_that_die_with_their_messages_lead_to_the_document_too(worker, client, monkeypatch):
    """The message goes with the worker and its main process, so every try is a task of its own."""
    monkeypatch.setattr(queue_module, "CLAIM_SECONDS", 0.0)
    names = [f"n{number:03}" for number in range(100)]
    put(worker, *(note(name) for name in names))
    sizes = []
    for _ in range(5):
        client.delete("medley:encode")
        client.delete("medley:queued:notes")
        worker.queue.claim(NOTES, names)
        assert worker.sweep() == 100
        sizes.append(len(sent(client)[0][1]))
    assert sizes == [64, 8, 1, 1, 1]
    worker.index(NOTES, ["n007"], "new")
    assert states(worker, State.FAILED) == {"n007": 1}
    worker.index(NOTES, ["n008"], "newer")
    assert worker.queue.deaths(NOTES, ["n007", "n008", "n009"]) == [0, 0, 5]


def test_a_message_for_what_is_done_takes_nothing_away(worker, client):
    put(worker, note("a"))
    worker.index(NOTES, ["a"], "t")
    for _ in range(DEATHS + 2):
        worker.queue.count_start("again")
    worker.index(NOTES, ["a"], "again")
    assert states(worker, State.INDEXED) == {"a": 1}
    assert discrepancies(worker) == []
    assert (worker.queue.depth(NOTES).queued, worker.queue.depth(NOTES).claimed) == (0, 0)


def test_a_collection_in_trouble_holds_up_no_other(worker, client, caplog):
    worker.medley.collections.create("reports")
    put(worker, note("a"))
    worker.medley.collections.store("reports").put([note("r")])
    store = worker.medley.collections.store("notes")
    store.pending = lambda *_: (_ for _ in ()).throw(Unavailable("the index is red"))
    caplog.set_level(logging.ERROR, "medley.worker")
    assert worker.sweep() == 1
    assert [arguments[0] for arguments in sent(client)] == ["reports"]
    assert "could not sweep notes: the index is red" in caplog.text


def test_a_document_that_kills_is_given_up_also_in_an_index_of_another_model(worker):
    put(worker, note("a"))
    worker.index(NOTES, ["a"], "t")
    put(worker, note("k"))
    worker.medley.models.encoders = lambda _: {"dense": HashingEncoder(32)}  # the collection's model of today
    begin(worker, "t2", ["k"], DEATHS)
    worker.index(NOTES, ["k"], "t2")
    assert states(worker, State.FAILED) == {"k": 1}
