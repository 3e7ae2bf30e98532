from __future__ import annotations

import secrets
from dataclasses import replace

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


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def opened(request, tmp_path):
    """Opens one installation, as often as it is called, as processes of their own do."""
    settings = Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")
    if request.param == "opensearch":
        node, prefix = request.getfixturevalue("node"), f"t{secrets.token_hex(5)}"
        settings = replace(settings, opensearch=node.url, opensearch_prefix=prefix)
    yield lambda: Medley.open(settings, patient=True)
    if settings.opensearch:
        cluster = Medley.open(settings).engine.cluster
        cluster.write("DELETE", f"/{cluster.prefix}.*")
        cluster.close()


@pytest.fixture
def medley(opened) -> Medley:
    return opened()
