"""Health, readiness, metrics and the API description."""

import json
import shutil

import pytest

from search.bootstrap import Medley
from search.settings import Settings
from web import create_app, forms
from web.api import openapi


def test_alive(client):
    assert client.get("/healthz").json == {"status": "alive"}


def test_ready(client):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json) == (200, {"status": "ready", "reasons": []})


def test_not_ready_says_why(home):
    app = create_app(Settings(home=home, reranker="nothing-here"))
    answer = app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["status"]) == (503, "not ready")
    assert [reason.partition(":")[0] for reason in answer.json["reasons"]] == ["abstracts", "notes"]
    assert "nothing-here" in answer.json["reasons"][0]


def test_only_operators_see_the_reasons(home, token):
    client = create_app(Settings(home=home, reranker="nothing-here")).test_client()
    reader, writer = token("ada", "*"), token("feeder", "ward-7", writes=["*"])
    for headers in ({}, reader, writer, {"Authorization": "Bearer wrong"}):
        answer = client.get("/readyz", headers=headers)
        assert (answer.status_code, answer.json) == (
            503,
            {"status": "not ready", "reasons": ["send the token of an operator to see the reasons"]},
        )
    answer = client.get("/readyz", headers=token("olga", "ward-7", operator=True))
    assert (answer.status_code, len(answer.json["reasons"])) == (503, 2)
    assert "nothing-here" in answer.json["reasons"][0]


def test_without_tokens_strangers_do_not_see_the_reasons(home):
    client = create_app(Settings(home=home, reranker="nothing-here")).test_client()
    answer = client.get("/readyz", headers={"X-Forwarded-For": "192.0.2.7"})
    assert (answer.status_code, "nothing-here" in answer.text) == (503, False)


def test_only_operators_read_the_metrics(client, token):
    for headers in (token("ada", "*"), token("feeder", "ward-7", writes=["*"])):
        answer = client.get("/metrics", headers=headers)
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "forbidden")
        assert "--operator" in answer.json["error"]["message"]
        assert "abstracts" not in answer.text
    answer = client.get("/metrics", headers=token("olga", "ward-7", operator=True))
    assert answer.status_code == 200
    assert 'medley_documents{collection="abstracts",state="indexed"}' in answer.text


def test_a_collection_without_an_index_is_not_ready(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    medley.collections.create("abstracts")
    answer = create_app(medley).test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json["reasons"][0].startswith("abstracts: ")


def test_a_search_without_an_index_is_an_error(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    medley.collections.create("abstracts")
    answer = create_app(medley).test_client().get("/v1/search?collection=abstracts&text=a")
    assert answer.status_code in (404, 503)


def test_a_published_index_that_is_missing_is_said_plainly(home, client):
    assert client.get("/v1/search?collection=notes&text=pneumonia").status_code == 200
    shutil.rmtree(home / "collections/notes/indexes")
    answer = client.get("/v1/search?collection=notes&text=pneumonia")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "unavailable")
    ready = client.get("/readyz")
    assert (ready.status_code, len(ready.json["reasons"])) == (503, 1)
    for text in (answer.json["error"]["message"], ready.json["reasons"][0]):
        assert "notes-1 is missing on the disk: run `medley index rebuild notes`" in text


def test_requests_are_counted(client):
    client.get("/v1/search?collection=notes&text=pneumonia")
    client.get("/v1/nothing")
    figures = client.get("/metrics").text
    assert 'medley_requests_total{endpoint="api.search_by_address",status="200"} 1.0' in figures
    assert 'medley_requests_total{endpoint="unknown",status="404"} 1.0' in figures
    assert "pneumonia" not in figures


def references(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_the_description_is_complete(client):
    described = client.get("/openapi.json").json
    assert described["openapi"] == "3.1.0"
    assert list(described["paths"]) == [
        "/v1/search",
        "/v1/search/batch",
        "/v1/stance",
        "/v1/complete",
        "/v1/cohorts",
        "/v1/cohorts/compare",
        "/v1/cohorts/export",
        "/v1/documents",
        "/v1/documents/{id}",
        "/v1/jobs/{identifier}",
        "/v1/collections",
        "/v1/kept",
        "/v1/kept/{identifier}",
        "/healthz",
        "/readyz",
    ]
    for reference in set(references(described)):
        place = described
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
    assert set(described["paths"]["/v1/search"]["post"]["responses"]) == {
        "200",
        "400",
        "401",
        "403",
        "404",
        "413",
        "415",
        "429",
        "500",
        "503",
    }


def test_the_description_comes_from_the_models_that_validate():
    schema = openapi.description()["components"]["schemas"]["SearchForm"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["size"] | {"title": "Size"} == {
        "default": 10,
        "description": "hits on a page",
        "maximum": 100,
        "minimum": 1,
        "title": "Size",
        "type": "integer",
    }
    assert set(schema["properties"]) == {*forms.PARAMETERS, "filters"}
    assert json.loads(json.dumps(openapi.description())) == openapi.description()


def test_every_api_address_is_described(app):
    described = {
        (path.replace("{id}", "<anything:identifier>").replace("{identifier}", "<identifier>"), method.upper())
        for path, methods in openapi.description()["paths"].items()
        for method in methods
    }
    served = {
        (rule.rule, method)
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1")
    }
    assert served <= described


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_health_checks_need_no_token(client, token, path):
    token("ada", "ward-7")
    assert client.get(path, environ_base={"REMOTE_ADDR": "192.0.2.7"}).status_code == 200
