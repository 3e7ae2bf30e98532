"""What is queued for a deleted collection: it is removed from the queue, and a worker that has it anyway drops it."""

from __future__ import annotations

import logging

import pytest
from redis_server import sent
from wards import note

from mappings.errors import NotFound, Unavailable
from workers.collections.removal import remove_collection
from workers.messages import QueueTarget, first_argument, is_of
from workers.queueing.app import PARSE, PARSE_TASK
from workers.queueing.queue import Queue

NOTES = QueueTarget("notes")


def test_messages_of_a_deleted_collection_leave_the_queue(queue, client):
    building = QueueTarget("notes", "notes-2")
    for target in (NOTES, building, QueueTarget("notes-2"), QueueTarget("abstracts")):
        queue.announce(target, ["p1/n1", "p1/n2"])
        queue.announce_urgent(target, ["p1/n3"])
        queue.claim(target, ["p1/n2"])
    for name in ("notes", "abstracts"):
        queue.send_task(PARSE_TASK, name, f"/in/{name}", "jsonl", queue=PARSE)
    assert queue.drop("notes") == 5
    assert {target for target, *_ in sent(client)} == {"notes-2", "abstracts"}
    kept = set(client.keys("medley:*:*"))
    assert {key.partition(":")[2].partition(":")[2] for key in kept} == {"notes-2", "abstracts"}
    assert client.llen(PARSE) == 1
    assert queue.drop("notes") == 0


@pytest.mark.parametrize(
    "message", ["", "{", "[]", '{"body": "!"}', '{"body": "e30="}', '{"body": 7}', '{"body": "W10="}']
)
def test_a_message_of_somebody_else_is_left_alone(queue, client, message):
    client.lpush(PARSE, message)
    assert first_argument(message) == ""
    assert queue.drop("notes") == 0
    assert client.lrange(PARSE, 0, -1) == [message]


def test_targets_of_a_collection():
    mine = ["notes", "index:notes-1", "notes-1", "index:notes-1-1", "index:", "index:notes"]
    assert [is_of(target, "notes") for target in mine] == [True, True, False, False, False, False]


def test_a_worker_drops_what_is_queued_for_a_deleted_collection(worker, client, caplog, tmp_path):
    worker.medley.collections.store("notes").put([note("a"), note("b")])
    worker.queue.announce(NOTES, ["a", "b"])
    remove_collection(worker.medley, "notes")
    with caplog.at_level(logging.INFO, "medley.worker"):
        worker.index(NOTES, ["a", "b"], "t")
        worker.index(NOTES, ["a"], "u")
        worker.index(QueueTarget("notes", "notes-1"), ["a", "b"], "v")
        worker.parse("notes", str(tmp_path / "in.jsonl"), "jsonl")
    assert caplog.text.count("the collection was deleted: nothing is left to index") == 3
    assert "was not read: there is no collection 'notes' any more" in caplog.text
    depth = worker.queue.depth(NOTES)
    assert (depth.queued, depth.claimed) == (0, 0)
    assert client.keys("medley:starts:*") == []
    assert worker.sweep() == 0
    assert worker.medley.collections.names() == []
    assert list((tmp_path / "collections").glob("[!.]*")) == []


def test_a_worker_whose_collection_is_deleted_under_it_drops_the_rest(worker, monkeypatch):
    """The deletion comes between two batches."""
    worker.medley.collections.store("notes").put([note("a")])
    whole = worker._outcomes

    def outcomes(target, ids):
        yield from whole(target, ids)
        remove_collection(worker.medley, "notes")
        yield from whole(target, ids)

    monkeypatch.setattr(worker, "_outcomes", outcomes)
    worker.index(NOTES, ["a"], "t")
    with pytest.raises(NotFound):
        worker.medley.collections.get("notes")


def test_an_error_of_a_collection_that_exists_is_still_raised(worker, monkeypatch):
    worker.medley.collections.store("notes").put([note("a")])
    monkeypatch.setattr(worker, "_outcomes", lambda *_: (_ for _ in ()).throw(Unavailable("no disk")))
    with pytest.raises(Unavailable, match="no disk"):
        worker.index(NOTES, ["a"], "t")


def test_a_queue_that_does_not_answer_is_reported():
    with pytest.raises(Unavailable, match="does not answer"):
        Queue("redis://127.0.0.1:9/0").drop("notes")
