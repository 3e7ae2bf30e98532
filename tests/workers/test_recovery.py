"""The sweeper: what is pending in the store and orphaned is announced again, and nothing else is."""

from __future__ import annotations

import pytest
from redis_server import sent
from worlds import note

from mappings.documents import Document
from mappings.errors import Unavailable
from workers.delivery import Delivery
from workers.indexing import recovery
from workers.messages import QueueTarget

NOTES = QueueTarget("notes")


def deliver(worker, *changes, queue=None) -> None:
    Delivery(worker.medley.collections.store("notes"), "notes", queue).accept(changes)


def test_what_was_accepted_and_never_announced_is_found(worker, client):
    deliver(worker, note("a"), note("b"))
    assert worker.sweep() == 2
    assert sent(client) == [["notes", ["a", "b"]]]


def test_what_was_found_is_not_announced_again_while_its_message_waits(worker, client):
    deliver(worker, note("a"))
    assert (worker.sweep(), worker.sweep()) == (1, 0)
    assert len(sent(client)) == 1


def test_what_was_announced_or_is_being_worked_on_is_left_alone(worker, client):
    deliver(worker, note("a"), note("b"), queue=worker.queue)
    worker.queue.claim(NOTES, ["b"])
    assert worker.sweep() == 0


def test_what_is_done_is_left_alone(worker, client):
    deliver(worker, note("a"), note("b", date="yesterday"))
    worker.index(NOTES, ["a", "b"], "t")
    assert worker.sweep() == 0
    assert sent(client) == []


def test_after_redis_was_emptied_all_that_waits_is_found(worker, redis, client):
    deliver(worker, note("a"))
    worker.index(NOTES, ["a"], "t")
    deliver(worker, note("a", "changed"), note("b"), queue=worker.queue)
    worker.medley.collections.store("notes").delete(["a"])
    redis.kill()
    redis.start()
    assert worker.sweep() == 2
    assert sent(client) == [["notes", ["b", "a"]]]


def test_what_was_accepted_while_redis_was_down_is_found(worker, redis, client):
    redis.kill()
    deliver(worker, note("a"), queue=worker.queue)
    with pytest.raises(Unavailable):
        worker.sweep()
    redis.start()
    assert worker.sweep() == 1


def test_a_failed_document_that_is_to_be_tried_again_is_found(worker, client):
    deliver(worker, note("b", date="yesterday"))
    worker.index(NOTES, ["b"], "t")
    assert worker.medley.collections.store("notes").retry(worker.medley.engine.resolve("notes").index) == 1
    assert worker.sweep() == 1
    assert sent(client) == [["notes", ["b"]]]


def test_every_collection_is_swept(worker, client):
    worker.medley.collections.create("abstracts")
    deliver(worker, note("a"))
    worker.medley.collections.store("abstracts").put([Document("x", "Title", (), frozenset({"public"}), {})])
    assert worker.sweep() == 2
    assert sent(client) == [["abstracts", ["x"]], ["notes", ["a"]]]


def test_a_sweep_takes_the_oldest_of_very_many_first(worker, client, monkeypatch):
    monkeypatch.setattr(recovery, "SWEPT_DOCUMENTS", 2)
    deliver(worker, note("c"), note("a"), note("b"))
    assert (worker.sweep(), worker.sweep()) == (2, 0)
    worker.index(NOTES, ["c", "a"], "t")
    assert worker.sweep() == 1
    assert sent(client) == [["notes", ["c", "a"]], ["notes", ["b"]]]
