"""The Redis of the tests: empty at first, gone when killed, back on the same port."""

import pytest

from mappings.errors import Unavailable
from workers.queueing.queue import Queue


def test_it_comes_back_empty_on_the_same_address(redis):
    queue = Queue(redis.url)
    assert queue.announce("notes", ["a", "b"])
    assert queue.depth("notes").queued == 2
    redis.kill()
    with pytest.raises(Unavailable, match="does not answer"):
        queue.depth("notes")
    assert not queue.announce("notes", ["c"])
    redis.start()
    assert queue.depth("notes").queued == 0
    queue.close()


def test_each_test_finds_it_empty(redis):
    queue = Queue(redis.url)
    assert queue.depth("notes").queued == 0
    assert queue.reports() == {}
    queue.close()
