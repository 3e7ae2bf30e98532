"""Callers who ask for too much at once: the API, the search page and uploads say so and when to come back."""

import json
from contextlib import ExitStack
from dataclasses import replace

import pytest
from portal_home import settings_of

from web import create_app
from web.access import tokens
from web.serving.fair_shares import FairShares

SEARCH = {"collection": "abstracts", "text": "aspirin"}


@pytest.fixture
def impatient(app):
    """The portal's application, in which nobody waits for a turn."""
    portal = app.extensions["medley"]
    app.extensions["medley"] = replace(portal, searches=FairShares(2, "searches", seconds=0))
    return app


def busy(app, caller="address 127.0.0.1"):
    return app.extensions["medley"].searches.hold(caller)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/search?collection=abstracts&text=aspirin", None),
        ("GET", "/v1/search?collection=abstracts&text=aspirin&format=ris", None),
        ("POST", "/v1/search", SEARCH),
        ("POST", "/v1/search/batch", {"searches": [SEARCH, SEARCH]}),
    ],
)
def test_a_caller_with_too_many_searches_is_told_when_to_come_back(impatient, method, path, body):
    client = impatient.test_client()
    with busy(impatient):
        answer = client.open(path, method=method, json=body)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
        assert answer.json["error"]["code"] == "overloaded"
        assert client.get("/healthz").status_code == 200
    assert client.open(path, method=method, json=body).status_code == 200


def test_the_search_page_says_so_too(impatient):
    client = impatient.test_client()
    with busy(impatient):
        answer = client.get("/search?collection=abstracts&text=aspirin")
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
        assert "oo many searches at the same time" in answer.text
        assert client.get("/").status_code == 200
    assert client.get("/search?collection=abstracts&text=aspirin").status_code == 200


def test_another_token_is_another_caller(impatient, home):
    texts = {name: tokens.add(home, name, ["public"]) for name in ("ada", "grace")}
    headers = {name: {"Authorization": f"Bearer {text}"} for name, text in texts.items()}
    client = impatient.test_client()
    with busy(impatient, f"token {texts['ada'].split('_')[1]}"):
        assert client.post("/v1/search", json=SEARCH, headers=headers["ada"]).status_code == 429
        assert client.post("/v1/search", json=SEARCH, headers=headers["grace"]).status_code == 200


def test_uploads_of_one_caller_take_half_of_the_places(app):
    client, uploads = app.test_client(), app.extensions["medley"].uploads
    body = json.dumps({"id": "a", "text": "b"})

    def post():
        return client.post("/v1/documents?collection=abstracts", data=body, content_type="application/x-ndjson")

    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(uploads.hold("address 127.0.0.1"))
        refused = post()
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert post().status_code == 200


def test_a_batch_has_one_deadline_and_says_which_searches_were_after_it(home):
    settings = replace(settings_of(home), batch_deadline_ms=20_000, max_deadline_ms=1)
    client = create_app(settings).test_client()
    batch = {"searches": [SEARCH | {"deadline_ms": 60_000}] * 12}
    answers = client.post("/v1/search/batch", json=batch).json["answers"]
    assert [(answer["degraded"], answer["partial"]) for answer in answers] == [([], [])] * 12
    client = create_app(replace(settings, batch_deadline_ms=1)).test_client()
    error = client.post("/v1/search/batch", json=batch).json["error"]
    assert error["code"] == "unavailable"
    assert "took more than 0.002 seconds" in error["message"]


def test_a_batch_that_reranks_too_much_is_refused(home):
    client = create_app(replace(settings_of(home), batch_candidates=70)).test_client()
    assert client.post("/v1/search/batch", json={"searches": [SEARCH] * 2}).status_code == 200
    answer = client.post("/v1/search/batch", json={"searches": [SEARCH] * 3})
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "searches")
    batch = {"searches": [SEARCH | {"rerank": False}] * 3}
    assert client.post("/v1/search/batch", json=batch).status_code == 200
