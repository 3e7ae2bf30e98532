"""A trace of a request: through a gateway and a model server as processes, through the queue, and what it never holds."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest
import urllib3
from collector import collecting
from portal_home import fill, settings_of
from running import server
from tiny import write_artifact
from worker_process import eventually, working

from search.engines.opensearch.client import Cluster, Connection
from search.settings import Settings
from search.tracing import spans
from web import create_app
from web.access import tokens

SEARCH = "/v1/search"
ASKED = {"collection": "abstracts", "text": "does aspirin prevent stroke"}
TRACEPARENT = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.fixture
def collector():
    with collecting() as made:
        yield made
        spans.stop()


@pytest.fixture
def traced(home, collector):
    """Makes clients of a portal that records spans, perhaps behind a proxy."""

    def make(**settings):
        spans.start(collector.address, "medley-gateway")
        return create_app(replace(settings_of(home), **settings)).test_client()

    return make


def test_a_request_is_named_by_its_route_and_holds_its_search(traced, collector):
    traced().post(SEARCH, json=ASKED)
    spans.stop()
    (request,) = collector.named("POST /v1/search")
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/search",
        "http.response.status_code": 200,
    }
    assert [item.name for item in collector.below(request)] == ["search"]
    assert not request.failed


def test_ids_texts_and_tokens_of_a_request_are_not_recorded(traced, collector, token, home):
    client, headers = traced(), token("florence", "ward-7")
    token_secret = headers["Authorization"].split("_")[-1]
    assert client.get("/document?collection=notes&id=p1/n1&text=Nightingale", headers=headers).status_code == 200
    assert client.get("/v1/documents/p1/n1?collection=notes", headers=headers).status_code == 200
    assert client.get("/Nightingale", headers=headers).status_code == 404
    assert client.post(SEARCH, json=ASKED | {"text": "Nightingale", "sort": "Nightingale"}, headers=headers).status_code == 400  # fmt: skip
    client.open("/healthy", method="NIGHTINGALE", headers=headers | {"X-Request-ID": "Nightingale"})
    spans.stop()
    assert len({item.trace for item in collector.spans}) == 5
    assert [item.name for item in collector.spans if "_OTHER" in item.name]
    every = b"".join(collector.bodies).lower()
    for word in ("nightingale", "p1/n1", "florence", "ward-7", token_secret.lower(), *(item.id for item in tokens.list_tokens(home))):  # fmt: skip
        assert word.encode() not in every, word


def test_health_checks_metrics_and_static_files_are_not_recorded(traced, collector):
    client = traced()
    for path in ("/healthz", "/readyz", "/metrics", "/static/style.css"):
        client.get(path)
    spans.stop()
    assert collector.spans == []


def test_only_a_proxy_of_ours_may_name_the_trace(traced, collector):
    headers = {"traceparent": TRACEPARENT}
    traced().post(SEARCH, json=ASKED, headers=headers)
    traced(proxies="127.0.0.1").post(SEARCH, json=ASKED, headers=headers)
    spans.stop()
    alone, continued = collector.named("POST /v1/search")
    assert (alone.parent, continued.parent) == ("", "b" * 16)
    assert alone.trace != continued.trace == "a" * 32


def test_a_failing_request_is_marked_as_failed(traced, collector, home):
    client = traced(opensearch="http://127.0.0.1:9")  # the discard port: nothing listens there
    assert client.post(SEARCH, json=ASKED).status_code == 503
    spans.stop()
    (request,) = collector.named("POST /v1/search")
    assert request.failed
    assert request.attributes["error.type"] == "503"
    calls = [item for item in collector.spans if item.name.startswith("opensearch ")]
    assert calls
    assert {(item.failed, item.attributes["error.type"]) for item in calls} == {(True, "Unavailable")}


@pytest.fixture
def models(tmp_path):
    """A folder with two tiny models."""
    folder = tmp_path / "models"
    write_artifact(folder / "tiny-bi")
    write_artifact(folder / "tiny-cross", "cross-encoder")
    return folder


@pytest.mark.slow
def test_one_trace_leads_from_the_gateway_to_the_model_server(models, collector, tmp_path):
    settings = Settings(home=tmp_path / "home", models=models, encoder="tiny-bi", reranker="none")
    home = str(fill(tmp_path / "home", settings))
    both = {"MEDLEY_TRACES": collector.address, "MEDLEY_DEADLINE_MS": "60000"}
    served_models = ("--model", "tiny-bi", "--model", "tiny-cross")
    with server(
        "inference", *served_models, MEDLEY_HOME=str(tmp_path / "server"), MEDLEY_MODELS=str(models), **both
    ) as address:
        own = {"MEDLEY_RERANKER": "tiny-cross", "MEDLEY_ENCODER": "tiny-bi", "MEDLEY_INFERENCE": address}
        with server("serve", "--workers", "1", MEDLEY_HOME=home, **own, **both) as gateway:
            answer = urllib3.request("POST", f"{gateway}{SEARCH}", json=ASKED)
            assert answer.status == 200
            assert answer.json()["degraded"] == []
    (request,) = collector.named("POST /v1/search")
    (search,) = collector.below(request)
    for step, path, model in (("search.encode", "/embed", "tiny-bi"), ("search.rerank", "/rerank", "tiny-cross")):
        # A step that goes on after another has a span for each part; one part asks the model server.
        (within,) = [item for item in collector.below(search) if item.name == step and collector.below(item)]
        call = next(item for item in collector.below(within) if item.name == f"model server {path}")
        (served,) = collector.below(call)
        (run,) = collector.below(served)
        assert [item.service for item in (request, search, within, call)] == ["medley-gateway"] * 4
        assert [(item.service, item.name) for item in (served, run)] == [
            ("medley-inference", f"POST {path}"),
            ("medley-inference", "model.run"),
        ]
        assert {item.trace for item in (request, search, within, call, served, run)} == {request.trace}
        assert call.attributes == {
            "server.address": "127.0.0.1",
            "server.port": int(address.rpartition(":")[2]),
            "url.path": path,
            "http.response.status_code": 200,
        }
        assert run.attributes["medley.model"] == model
        assert run.attributes["medley.inputs"] >= 1
    assert b"aspirin" not in b"".join(collector.bodies)


@pytest.mark.slow
def test_the_trace_of_a_delivery_goes_on_in_the_worker(traced, collector, redis, home, tmp_path):
    client = traced(redis=redis.url)
    line = b'{"id": "n1", "title": "Mrs Nightingale", "text": "Heart failure.", "labels": ["ward-7"]}\n'
    settings = {"home": str(home), "redis": redis.url, "encoder": "hashing-256", "reranker": "none", "traces": collector.address}  # fmt: skip
    answer = client.post("/v1/documents?collection=notes", data=line, content_type="application/x-ndjson")
    assert answer.status_code in (200, 202), answer.text
    store = client.application.extensions["medley"].medley.collections.store("notes")
    with working(tmp_path / "worker", settings, "--no-sweep") as worker:
        index = client.application.extensions["medley"].medley.engine.published("notes")
        eventually(lambda: not store.pending(index, 1), "the document is indexed", told=lambda: worker.log)
        assert worker.stop() == 0
        assert "Traceback" not in worker.log
    client.application.extensions["medley"].queue.close()
    spans.stop()
    (request,) = collector.named("POST /v1/documents")
    (task,) = [item for item in collector.below(request) if item.name == "medley.index"]
    assert (task.service, task.attributes) == ("medley-worker", {"medley.collection": "notes"})
    below = {item.name: item for item in collector.below(task)}
    assert below.keys() == {"index.read", "index.encode", "index.write"}
    assert below["index.encode"].attributes == below["index.write"].attributes == {"medley.documents": 1}
    assert [item.name for item in collector.below(below["index.write"])] == ["index.commit"]
    assert b"Nightingale" not in b"".join(collector.bodies)


@pytest.fixture
def cluster(node, home):
    """The settings of a portal over both collections on a cluster."""
    settings = replace(settings_of(home), opensearch=node.url, opensearch_prefix=f"t{secrets.token_hex(5)}")
    yield settings
    used = Cluster(Connection((node.url,), prefix=settings.opensearch_prefix))
    used.write("DELETE", f"/{settings.opensearch_prefix}.*")
    used.close()


@pytest.mark.slow
def test_calls_to_a_cluster_belong_to_the_step_that_makes_them(cluster, traced, collector):
    fill(cluster.home, cluster)
    client = traced(opensearch=cluster.opensearch, opensearch_prefix=cluster.opensearch_prefix)
    assert client.post(SEARCH, json=ASKED).get_json()["hits"]
    spans.stop()
    (request,) = collector.named("POST /v1/search")
    (search,) = [item for item in collector.below(request) if item.name == "search"]
    called = {step.name: {item.name for item in collector.below(step)} for step in collector.below(search)}
    assert "opensearch _msearch" in called["search.legs"]
    calls = [item for item in collector.spans if item.name.startswith("opensearch ")]
    assert {item.trace for item in calls} == {request.trace}
    assert {item.attributes["db.system.name"] for item in calls} == {"opensearch"}
    # Making an index that is there already is refused, and meant to be.
    assert not any(item.failed for item in calls if item.name == "opensearch _msearch")
    assert cluster.opensearch_prefix.encode() not in b"".join(collector.bodies)
