from __future__ import annotations

import pytest
import redis as library
from worlds import embedded_world, opensearch_world

from search.bootstrap import Medley
from search.settings import Settings
from workers.queueing.queue import Queue
from workers.queueing.worker import IndexWorker


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def world(request, tmp_path):
    if request.param == "embedded":
        yield embedded_world(tmp_path)
        return
    with opensearch_world(request.getfixturevalue("node").url) as made:
        yield made


@pytest.fixture
def client(redis):
    """Reads Redis directly."""
    with library.Redis.from_url(redis.url, decode_responses=True) as made:
        yield made


@pytest.fixture
def queue(redis):
    made = Queue(redis.url)
    yield made
    made.close()


@pytest.fixture
def worker(tmp_path, queue):
    """A worker's work, without a process of its own, over a new home with the collection `notes`."""
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    return IndexWorker(medley, queue)
