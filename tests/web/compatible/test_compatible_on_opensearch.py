"""The same bodies over both engines: a gateway on a cluster answers a client of OpenSearch as an embedded one does."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from portal_home import fill, settings_of

from web import create_app

pytestmark = pytest.mark.slow

TEXT = {"match": {"text": "statins in adults"}}
HEART = {"term": {"journal": "Heart"}}
BODIES: dict[str, dict[str, Any]] = {
    "everything": {"aggs": {"a": {"terms": {"field": "journal"}}, "y": {"terms": {"field": "year"}}}},
    "years": {"size": 0, "aggs": {"y": {"date_histogram": {"field": "published", "calendar_interval": "year"}}}},
    "filters": {"query": {"bool": {"filter": [HEART, {"range": {"year": {"gt": 2015}}}]}}},
    "none of": {"query": {"bool": {"must_not": [HEART], "must": [{"exists": {"field": "year"}}]}}},
    "a text": {"query": TEXT, "highlight": {"fields": {"*": {}}}, "explain": True},
    "a text that only ranks": {"query": {"bool": {"should": [TEXT], "filter": [{"match_all": {}}]}}},
    "ids": {"query": {"ids": {"values": ["pm/3", "pm/1"]}}},
    "sorted": {"query": TEXT, "sort": [{"published": "desc"}]},
    "pages": {"query": TEXT, "from": 1, "size": 2},
}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return create_app(settings_of(fill(tmp_path_factory.mktemp("embedded")))).test_client()


@pytest.fixture(scope="module")
def clustered(node: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    home: Path = tmp_path_factory.mktemp("clustered")
    settings = replace(settings_of(home), opensearch=node.url, opensearch_prefix=f"t{secrets.token_hex(5)}")
    app = create_app(settings)
    fill(home, settings)
    yield app.test_client()
    cluster = app.extensions["medley"].medley.engine.cluster
    cluster.write("DELETE", f"/{cluster.prefix}.*")
    cluster.close()


def answered(client: FlaskClient, body: Any) -> dict[str, Any]:
    """The answer without what differs from one run to the next; scores are rounded, as vectors of a cluster are."""
    answer = client.post("/opensearch/abstracts/_search", json=body)
    assert answer.status_code == 200, answer.json
    found = dict(answer.json)
    found.pop("took")
    found["ext"]["medley"].pop("index")
    for part in (found["hits"], *found["hits"]["hits"]):
        for name in ("max_score", "_score"):
            part[name] = part.get(name) and round(part[name], 3)
        part.pop("_explanation", None)
    return found


@pytest.mark.parametrize("name", BODIES)
def test_both_engines_answer_alike(embedded: FlaskClient, clustered: FlaskClient, name: str) -> None:
    assert answered(embedded, BODIES[name]) == answered(clustered, BODIES[name])


def test_vectors_of_a_caller_on_both_engines(embedded: FlaskClient, clustered: FlaskClient) -> None:
    found = []
    for client in (embedded, clustered):
        mapping = client.get("/opensearch/abstracts/_mapping").json["abstracts"]["mappings"]
        fingerprint = mapping["_meta"]["encoders"]["dense"]
        encoder = client.application.extensions["medley"].medley.services.encoder(fingerprint)
        (vector,) = encoder.encode_queries(["metformin weight"]).tolist()
        body: dict[str, Any] = {
            "query": {"knn": {"dense": {"vector": vector, "k": 3, "filter": {"range": {"year": {"gte": 2018}}}}}},
            "ext": {"medley": {"encoders": {"dense": fingerprint}}},
        }
        found.append(answered(client, body))
        assert found[-1]["hits"]["hits"][0]["_id"] == "pm/3"
        body["query"]["knn"]["dense"]["vector"] = vector[:-1]
        refused = client.post("/opensearch/abstracts/_search", json=body)
        assert refused.status_code == 400
        assert "the index expects (256,)" in refused.json["error"]["reason"]
    assert found[0] == found[1]
