"""A node that is killed three times in the middle of ingestion: what was accepted is there, once, and nothing else is."""

import random
import threading
import time
import traceback

import pytest
from opensearch_node import Node
from worlds import World, note

from mappings.errors import Unavailable
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.documents.store import OpenSearchStore
from search.engines.opensearch.engine import OpenSearchEngine
from search.storage import State
from workers.indexing.ingest import ingest
from workers.indexing.inspection import inspect

pytestmark = [pytest.mark.opensearch, pytest.mark.slow]

KILLS = 3
DOCUMENTS = 500


def world_at(url: str) -> World:
    cluster = Cluster(Connection((url,), patience=120.0))
    return World(
        OpenSearchStore(cluster, "notes"), lambda collection: OpenSearchEngine(cluster, lambda name: collection)
    )


def feed(world: World, accepted: dict[str, str | None], stop: threading.Event) -> None:
    """Put, replace and delete documents, and note what the store acknowledged."""
    rng = random.Random(3)
    while not stop.is_set() or len(accepted) < DOCUMENTS:
        names = [f"n{rng.randrange(DOCUMENTS)}" for _ in range(20)]
        text = f"heart {rng.randrange(1000)}"
        if rng.random() < 0.15:
            world.store.delete(names[:5])
            accepted.update(dict.fromkeys(names[:5]))
        else:
            world.store.put([note(name, text) for name in names])
            accepted.update(dict.fromkeys(names, text))


def fill(world: World, stop: threading.Event, errors: list[Exception]) -> None:
    while not stop.is_set():
        try:
            for _ in ingest(world.indexer(wait=60.0)):
                pass
        except Unavailable:
            time.sleep(0.5)  # it says so, and is started again, as whoever runs it would
        except Exception as error:
            traceback.print_exc()
            errors.append(error)
            return


def test_a_killed_node_loses_nothing_doubles_nothing_and_leaves_nothing_superseded(own_node: Node):
    world = world_at(own_node.url)
    accepted: dict[str, str | None] = {}
    errors: list[Exception] = []
    fed, filled = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=feed, args=(world, accepted, fed)),
        threading.Thread(target=fill, args=(world, filled, errors)),
    ]
    for thread in threads:
        thread.start()
    for kill in range(KILLS):
        time.sleep(2.0 + kill)
        own_node.kill()
        own_node.start()
    fed.set()
    threads[0].join()
    filled.set()
    threads[1].join()
    assert errors == []
    for _ in ingest(world.indexer(wait=60.0)):
        pass
    index = world.engine.resolve("notes").index
    alive = {name for name, text in accepted.items() if text is not None}
    assert {record.id for record in world.store.states(index, State.INDEXED, 10**6) if record.passages} == alive
    held = list(world.engine.contents(index))
    assert sorted(name for name, _, _ in held) == sorted(alive)
    latest = world.store.latest(sorted(accepted))
    assert {name: version for name, version, _ in held} == {name: latest[name].version for name in alive}
    documents = {name: latest[name].document if name in latest else None for name in accepted}
    texts = {name: document.sections[0].text if document else None for name, document in documents.items()}
    assert texts == accepted
    assert [str(item) for item in inspect(world.indexer())] == []
