"""Documents that arrive over HTTP are announced to the workers; without Redis they wait for the sweeper."""

import json
import time
from dataclasses import replace

import pytest
from portal_home import settings_of

from web import create_app
from web.api import record_stream
from workers.messages import QueueTarget
from workers.queueing.queue import Queue
from workers.queueing.worker import IndexWorker

NDJSON = "application/x-ndjson"


@pytest.fixture
def served(home, redis):
    app = create_app(replace(settings_of(home), redis=redis.url))
    yield app
    app.extensions["medley"].queue.close()


@pytest.fixture
def queue(redis):
    made = Queue(redis.url)
    yield made
    made.close()


def post(client, *names):
    body = "".join(json.dumps({"id": name, "text": "Fever fell."}) + "\n" for name in names)
    answer = client.post("/v1/documents?collection=abstracts", data=body, content_type=NDJSON)
    return json.loads(answer.data.splitlines()[-1])


def test_what_changed_is_announced(served, queue):
    client = served.test_client()
    assert post(client, "a", "b", "a")["queued"] is True
    assert queue.depth(QueueTarget("abstracts")).queued == 2
    assert post(client, "a")["queued"] is True
    assert queue.depth(QueueTarget("abstracts")).queued == 2
    deleted = client.delete("/v1/documents/pm/1?collection=abstracts").json
    assert deleted["queued"] is True
    assert queue.depth(QueueTarget("abstracts")).queued == 3


def test_without_redis_documents_are_accepted_and_swept_up_later(served, queue, redis, monkeypatch):
    monkeypatch.setattr(record_stream, "BATCH_DOCUMENTS", 2)
    client = served.test_client()
    redis.kill()
    began = time.monotonic()
    told = post(client, *(f"d{number}" for number in range(20)))
    assert (told["accepted"], told["queued"]) == (20, False)
    assert client.delete("/v1/documents/pm/1?collection=abstracts").json["queued"] is False
    assert time.monotonic() - began < 20
    redis.start()
    assert post(client, "e")["queued"] is True
    assert IndexWorker(served.extensions["medley"].medley, queue).sweep() == 21
    assert queue.depth(QueueTarget("abstracts")).queued == 22
