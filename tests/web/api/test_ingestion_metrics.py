"""The metrics of stores, queue and workers, also while one of them is unavailable."""

from dataclasses import replace

import pytest
from portal_home import settings_of

from mappings.errors import Unavailable
from search.storage import State, StateRecord
from web import create_app
from web.api import ingestion_metrics
from web.cli.indexing import fill_quietly
from workers.messages import QueueTarget
from workers.queueing.queue import Queue


def shown(client, prefix):
    """The samples whose names begin with `prefix`, as {name and labels: value}."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    found = (line.rsplit(" ", 1) for line in answer.text.splitlines() if line.startswith(prefix))
    return {name: float(value) for name, value in found}


@pytest.fixture
def queue(redis):
    made = Queue(redis.url)
    yield made
    made.close()


@pytest.fixture
def queued(home, redis):
    """A portal with a queue."""
    app = create_app(replace(settings_of(home), redis=redis.url))
    yield app.test_client()
    app.extensions["medley"].queue.close()


def test_documents_are_counted_by_state(client, app):
    medley = app.extensions["medley"].medley
    store, index = medley.collections.store("abstracts"), medley.engine.resolve("abstracts").index
    store.settle(index, [StateRecord("pm/1", 1, State.FAILED, cause="no\nwords " + "x" * 90)])
    store.delete(["pm/2"])
    assert shown(client, "medley_documents{") == {
        'medley_documents{collection="abstracts",state="indexed"}': 3,
        'medley_documents{collection="abstracts",state="waiting"}': 1,
        'medley_documents{collection="abstracts",state="failed"}': 1,
        'medley_documents{collection="notes",state="indexed"}': 3,
        'medley_documents{collection="notes",state="waiting"}': 0,
        'medley_documents{collection="notes",state="failed"}': 0,
    }
    oldest = shown(client, "medley_waiting_oldest_seconds{")
    assert 0 < oldest['medley_waiting_oldest_seconds{collection="abstracts"}'] < 60
    assert oldest['medley_waiting_oldest_seconds{collection="notes"}'] == 0
    cause = ("no words " + "x" * 90)[:80]
    assert shown(client, "medley_failed_documents{") == {
        f'medley_failed_documents{{cause="{cause}",collection="abstracts"}}': 1
    }
    assert shown(client, "medley_queue_documents{") == {}
    fill_quietly(medley, "abstracts")
    assert shown(client, "medley_documents{")['medley_documents{collection="abstracts",state="waiting"}'] == 0


def test_only_the_most_frequent_causes_are_named(client, app):
    store = app.extensions["medley"].medley.collections.store("abstracts")
    index = app.extensions["medley"].medley.engine.resolve("abstracts").index
    from portal_home import abstract

    names = [f"d{number:02}" for number in range(30)]
    store.put([abstract(name, "A title", "public", 2020, "Heart", "Text.") for name in names])
    store.settle(index, [StateRecord(name, 1, State.FAILED, cause=f"cause {min(int(name[1:]), 15)}") for name in names])
    found = shown(client, "medley_failed_documents{")
    assert len(found) == ingestion_metrics.CAUSES
    assert max(found, key=found.get) == 'medley_failed_documents{cause="cause 15",collection="abstracts"}'


def test_the_queue_and_its_workers_are_shown(queued, queue):
    queue.announce(QueueTarget("notes"), ["a", "b", "c"])
    queue.claim(QueueTarget("notes"), ["a"])
    report = {"documents": 5.0, "failed": 1.0, "texts": 20.0, "tokens": 900.0, "encoding_seconds": 1.5, "seconds": 9.0}
    queue.report("host-1", report)
    queue.report("host-2", {"documents": 2.0})
    assert shown(queued, "medley_queue_documents{") == {
        'medley_queue_documents{collection="abstracts",state="queued"}': 0,
        'medley_queue_documents{collection="abstracts",state="taken"}': 0,
        'medley_queue_documents{collection="notes",state="queued"}': 2,
        'medley_queue_documents{collection="notes",state="taken"}': 1,
    }
    assert shown(queued, "medley_queue_oldest_seconds{")['medley_queue_oldest_seconds{collection="notes"}'] > 0
    assert shown(queued, "medley_worker_") == {
        'medley_worker_documents_total{worker="host-1"}': 5,
        'medley_worker_documents_total{worker="host-2"}': 2,
        'medley_worker_failed_total{worker="host-1"}': 1,
        'medley_worker_texts_total{worker="host-1"}': 20,
        'medley_worker_tokens_total{worker="host-1"}': 900,
        'medley_worker_encoding_seconds_total{worker="host-1"}': 1.5,
        'medley_worker_seconds_total{worker="host-1"}': 9,
    }


def test_without_redis_the_other_figures_are_shown(queued, redis):
    redis.kill()
    assert shown(queued, "medley_queue_") == {}
    assert shown(queued, "medley_worker_") == {}
    assert len(shown(queued, "medley_documents{")) == 6


def test_without_the_engine_the_other_figures_are_shown(client, app, monkeypatch):
    def down(name):
        raise Unavailable("the cluster is down")

    monkeypatch.setattr(app.extensions["medley"].medley.engine, "published", down)
    client.get("/healthz")
    assert shown(client, "medley_documents{") == {}
    assert shown(client, 'medley_requests_total{endpoint="healthz"') != {}


def test_without_the_catalog_the_other_figures_are_shown(client, app, monkeypatch):
    def down():
        raise Unavailable("the cluster is down")

    client.get("/healthz")
    monkeypatch.setattr(app.extensions["medley"].medley.collections, "names", down)
    assert shown(client, "medley_documents{") == {}
    assert shown(client, 'medley_requests_total{endpoint="healthz"') != {}


def test_workers_of_a_gateway_show_the_same(client, monkeypatch, tmp_path):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    assert len(shown(client, "medley_documents{")) == 6


@pytest.mark.parametrize(("labels", "told"), [(("public",), False), (("*",), True)])
def test_causes_are_shown_to_those_who_can_see_every_document(client, app, token, labels, told):
    medley = app.extensions["medley"].medley
    store, index = medley.collections.store("notes"), medley.engine.resolve("notes").index
    (first, *_) = store.states(index, State.INDEXED)
    store.settle(index, [StateRecord(first.id, first.version, State.FAILED, cause="a date, not 'Jane Doe'")])
    answer = client.get("/metrics", headers=token("ada", *labels, operator=True))
    assert ("Jane Doe" in answer.text) is told
    assert 'medley_documents{collection="notes",state="failed"} 1.0' in answer.text
