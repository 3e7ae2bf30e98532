"""The sweeper: what waits in the store and is in nobody's hands is announced again, and nothing else is."""

from __future__ import annotations

import pytest
from redis_server import sent
from worlds import note

from mappings.documents import Document
from mappings.errors import Unavailable
from workers.delivery import Delivery
from workers.queueing import worker as module


def deliver(duty, *changes, queue=None) -> None:
    Delivery(duty.medley.store("notes"), "notes", queue).take(changes)


def test_what_was_accepted_and_never_announced_is_found(duty, client):
    deliver(duty, note("a"), note("b"))
    assert duty.sweep() == 2
    assert sent(client) == [["notes", ["a", "b"]]]


def test_what_was_found_is_not_announced_again_while_its_message_waits(duty, client):
    deliver(duty, note("a"))
    assert (duty.sweep(), duty.sweep()) == (1, 0)
    assert len(sent(client)) == 1


def test_what_was_announced_or_is_being_worked_on_is_left_alone(duty, client):
    deliver(duty, note("a"), note("b"), queue=duty.queue)
    duty.queue.take("notes", ["b"])
    assert duty.sweep() == 0


def test_what_is_done_is_left_alone(duty, client):
    deliver(duty, note("a"), note("b", date="yesterday"))
    duty.index("notes", ["a", "b"], "t")
    assert duty.sweep() == 0
    assert sent(client) == []


def test_after_redis_was_emptied_all_that_waits_is_found(duty, redis, client):
    deliver(duty, note("a"))
    duty.index("notes", ["a"], "t")
    deliver(duty, note("a", "changed"), note("b"), queue=duty.queue)
    duty.medley.store("notes").delete(["a"])
    redis.kill()
    redis.start()
    assert duty.sweep() == 2
    assert sent(client) == [["notes", ["b", "a"]]]


def test_what_was_accepted_while_redis_was_down_is_found(duty, redis, client):
    redis.kill()
    deliver(duty, note("a"), queue=duty.queue)
    with pytest.raises(Unavailable):
        duty.sweep()
    redis.start()
    assert duty.sweep() == 1


def test_a_failed_document_that_is_to_be_tried_again_is_found(duty, client):
    deliver(duty, note("b", date="yesterday"))
    duty.index("notes", ["b"], "t")
    assert duty.medley.store("notes").retry(duty.medley.engine.resolve("notes").index) == 1
    assert duty.sweep() == 1
    assert sent(client) == [["notes", ["b"]]]


def test_every_collection_is_swept(duty, client):
    duty.medley.create("abstracts")
    deliver(duty, note("a"))
    duty.medley.store("abstracts").put([Document("x", "Title", (), frozenset({"public"}), {})])
    assert duty.sweep() == 2
    assert sent(client) == [["abstracts", ["x"]], ["notes", ["a"]]]


def test_a_sweep_takes_the_oldest_of_very_many_first(duty, client, monkeypatch):
    monkeypatch.setattr(module, "SWEPT", 2)
    deliver(duty, note("c"), note("a"), note("b"))
    assert (duty.sweep(), duty.sweep()) == (2, 0)
    duty.index("notes", ["c", "a"], "t")
    assert duty.sweep() == 1
    assert sent(client) == [["notes", ["c", "a"]], ["notes", ["b"]]]
