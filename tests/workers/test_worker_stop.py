"""A worker that is stopped leaves a store whose main file is complete, although others still have it open."""

from __future__ import annotations

import shutil

import pytest
from worker_process import eventually, working
from worlds import note

from search.bootstrap import Medley
from search.engines.embedded.store import EmbeddedStore
from search.settings import Settings
from search.storage import State
from workers.delivery import Delivery
from workers.queueing.queue import Queue

pytestmark = pytest.mark.slow


def test_a_worker_that_was_stopped(redis, tmp_path):
    home = tmp_path / "home"
    medley = Medley.open(Settings(home=home, encoder="hashing-256", reranker="none"))
    medley.collections.create("notes")
    store = medley.collections.store("notes")  # open in this process throughout
    queue = Queue(redis.url)
    settings = {"home": str(home), "redis": redis.url, "encoder": "hashing-256", "reranker": "none"}

    def indexed() -> bool:
        index = medley.engine.published("notes")
        return bool(index and store.states(index, State.INDEXED))

    with working(tmp_path / "worker", settings, "--no-sweep") as worker:
        Delivery(store, "notes", queue).accept([note("a")])
        eventually(indexed, "the document is indexed", told=lambda: worker.log)
        assert worker.stop() == 0
        log = store.path.with_name("store.sqlite-wal")
        assert not log.exists() or log.stat().st_size == 0
    queue.close()
    shutil.copy(store.path, tmp_path / "store.sqlite")
    assert EmbeddedStore(tmp_path).states(medley.engine.published("notes"), State.INDEXED)
