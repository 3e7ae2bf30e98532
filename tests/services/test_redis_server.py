"""The Redis of the tests: empty at first, gone when killed, back on the same port."""

import pytest

from mappings.errors import Unavailable
from workers.messages import QueueTarget
from workers.queueing.queue import Queue

NOTES = QueueTarget("notes")


def test_it_comes_back_empty_on_the_same_address(redis):
    queue = Queue(redis.url)
    assert queue.announce(NOTES, ["a", "b"])
    assert queue.depth(NOTES).queued == 2
    redis.kill()
    with pytest.raises(Unavailable, match="does not answer"):
        queue.depth(NOTES)
    assert not queue.announce(NOTES, ["c"])
    redis.start()
    assert queue.depth(NOTES).queued == 0
    queue.close()


def test_each_test_finds_it_empty(redis):
    queue = Queue(redis.url)
    assert queue.depth(NOTES).queued == 0
    assert queue.reports() == {}
    queue.close()
