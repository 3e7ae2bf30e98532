"""The HTTP API, by comparing complete answers."""

import csv
import io
import json

import pytest
import rispy
from pydantic import BaseModel

from web import search_answers, wire


def ask(client, headers=None, **body):
    return client.post("/v1/search", json={"collection": "abstracts", **body}, headers=headers)


def ids(response):
    assert response.status_code == 200, response.json
    return [hit["document"] for hit in response.json["hits"]]


def conforms(model: type[BaseModel], body):
    """The body is exactly what the description says."""
    assert model.model_validate_json(json.dumps(body), strict=True).model_dump(mode="json") == body


def test_a_complete_answer_to_a_search(client):
    response = ask(client, text="aspirin stroke", size=1, explain=True)
    assert response.status_code == 200
    body = response.json
    conforms(search_answers.SearchAnswer, body)
    timings = body.pop("timings_ms")
    assert timings.pop("total") > 0
    assert body.pop("cursor")
    (hit,) = body.pop("hits")
    score = hit.pop("score")
    explain = hit.pop("explain")
    assert body == {
        "total": {"value": 1, "relation": "exact"},
        "facets": {
            "year": [{"value": "2018", "count": 1}],
            "source": [{"value": "trials", "count": 1}],
            "journal": [{"value": "Brain", "count": 1}],
            "type": [],
            "badges": [],
            "mesh": [],
        },
        "degraded": [],
        "partial": [],
        "reranked": {"scored": 0, "candidates": 0, "closely": 0, "wanted": 0},
        "index": body["index"],
        "invented": False,
        "beyond_window": False,
        "understood": body["understood"],
        "answerable": {"probability": None, "missing": []},
    }
    (evidence,) = hit.pop("evidence")
    assert evidence.pop("score") > 0
    text = hit["text"]
    assert text[evidence["start"] : evidence["end"]] == evidence["text"]
    assert [evidence["text"][start:end] for start, end in evidence["marks"]] == ["Aspirin", "stroke"]
    assert hit == {
        "document": "pm/2",
        "passage": "pm/2@1#0",
        "title": "Aspirin for prevention of stroke",
        "title_marks": [[0, 7], [26, 32]],
        "heading": hit["heading"],
        "text": text,
        "fields": {
            "journal": "Brain",
            "published": "2018-06-01",
            "source": "trials",
            "year": 2018,
        },
        "badges": [],
        "stance": None,
        "probability": None,
        "lexical": True,
        "more_passages": 0,
        "others": [],
        "meanings": [],
        "proofs": [],
    }
    assert explain["score"] == score
    assert sum(explain["final"].values()) == pytest.approx(score)
    assert sum(leg["contribution"] for leg in explain["legs"].values()) == pytest.approx(explain["fused"])
    assert explain["matched_terms"] == ["aspirin", "stroke"]


def test_an_address_asks_the_same(client):
    posted = ask(client, text="statins", filters={"year": {"gte": 2020}}, size=3).json
    asked = client.get("/v1/search?collection=abstracts&text=statins&filter.year=2020..&size=3").json
    for body in (posted, asked):
        body.pop("timings_ms")
        body.pop("cursor")
    assert asked == posted


def test_filters_and_facets_agree(client):
    everything = ask(client, text="statins").json
    counts = {item["value"]: item["count"] for item in everything["facets"]["journal"]}
    assert counts == {"Heart": 3}
    assert everything["total"] == {"value": 3, "relation": "exact"}
    filtered = ask(client, text="statins", filters={"year": {"gte": 2020, "lte": 2020}, "journal": ["Heart", "Brain"]})
    assert ids(filtered) == ["pm/4"]
    assert filtered.json["total"]["value"] == 1
    assert ids(ask(client, text="statins", filters={"published": {"lte": "2015-12-31"}})) == ["pm/1"]


def test_pages_repeat_nothing(client):
    first = ask(client, text="adults statins", size=2)
    second = ask(client, text="adults statins", size=2, cursor=first.json["cursor"])
    third = ask(client, text="adults statins", size=2, cursor=second.json["cursor"])
    seen = ids(first) + ids(second) + ids(third)
    assert sorted(seen) == ["pm/1", "pm/2", "pm/3", "pm/4", "secret/1"]
    assert third.json["cursor"] is None


def test_sorting_by_a_field(client):
    found = ask(client, text="statins adults", sort="-year").json["hits"]
    years = [hit["fields"]["year"] for hit in found]
    assert years == sorted(years, reverse=True)


def test_a_patient_is_one_hit(client):
    body = ask(client, collection="notes", text="pneumonia").json
    assert [(hit["document"][:2], hit["others"]) for hit in body["hits"]] in (
        [("p1", ["p1/n2"]), ("p2", [])],
        [("p1", ["p1/n1"]), ("p2", [])],
        [("p2", []), ("p1", ["p1/n2"])],
        [("p2", []), ("p1", ["p1/n1"])],
    )


def test_a_batch_answers_in_order(client):
    searches = [{"collection": "abstracts", "text": "aspirin stroke"}, {"collection": "notes", "text": "effusion"}]
    body = client.post("/v1/search/batch", json={"searches": searches}).json
    conforms(search_answers.BatchAnswer, body)
    assert [answer["hits"][0]["document"] for answer in body["answers"]] == [
        "pm/2",
        body["answers"][1]["hits"][0]["document"],
    ]


@pytest.mark.parametrize(
    ("second", "status", "field"),
    [
        ({"collection": "abstracts", "text": ""}, 400, "searches.1.text"),
        ({"collection": "nothing", "text": "a"}, 400, "searches.1.collection"),
        ({"collection": "abstracts", "text": "a", "cursor": "forged"}, 400, "searches.1.cursor"),
    ],
)
def test_a_batch_names_the_search_at_fault(client, second, status, field):
    response = client.post("/v1/search/batch", json={"searches": [{"collection": "abstracts", "text": "a"}, second]})
    assert (response.status_code, response.json["error"]["field"]) == (status, field)


def test_a_complete_document(client):
    response = client.get("/v1/documents/pm/2?collection=abstracts")
    conforms(wire.DocumentAnswer, response.json)
    assert response.json == {
        "document": "pm/2",
        "collection": "abstracts",
        "version": 1,
        "title": "Aspirin for prevention of stroke",
        "sections": [{"heading": "Results", "text": "Aspirin reduced stroke in adults. Bleeding was more frequent."}],
        "fields": {"year": 2018, "journal": "Brain", "source": "trials", "published": "2018-06-01"},
        "invented": False,
    }


def test_citations_of_a_document(client):
    response = client.get("/v1/documents/pm/2?collection=abstracts&format=ris")
    assert response.mimetype == "application/x-research-info-systems"
    assert response.headers["Content-Disposition"] == 'attachment; filename="pm-2.ris"'
    assert [item["title"] for item in rispy.loads(response.text)] == ["Aspirin for prevention of stroke"]
    assert client.get("/v1/documents/pm/2?collection=abstracts&format=bibtex").text.startswith("@article{pm-2,")


def test_citations_of_the_hits(client):
    response = client.get(
        "/v1/search?collection=abstracts&text=statins&filter.journal=Heart&filter.year=2020..2021&format=csv"
    )
    assert response.mimetype == "text/csv"
    assert sorted(row["id"] for row in csv.DictReader(io.StringIO(response.text))) == ["pm/4", "secret/1"]


def test_the_collections(client):
    body = client.get("/v1/collections").json
    conforms(wire.CollectionsAnswer, body)
    assert [(item["name"], item["title"], item["group_by"]) for item in body["collections"]] == [
        ("abstracts", "Research abstracts", "document"),
        ("notes", "Clinical notes", "patient"),
    ]
    assert body["collections"][1]["sorts"] == ["relevance", "-date", "date"]


BAD = [
    ("POST", "/v1/search", {"json": {}}, 400, "invalid_input", "collection"),
    ("POST", "/v1/search", {"json": {"collection": "nothing", "text": "a"}}, 400, "invalid_input", "collection"),
    ("POST", "/v1/search", {"json": {"collection": "abstracts"}}, 400, "invalid_input", "text"),
    ("POST", "/v1/search", {"json": {"collection": "abstracts", "text": "\x00\x07"}}, 400, "invalid_input", "text"),
    ("POST", "/v1/search", {"json": {"collection": "abstracts", "text": "a" * 100_000}}, 400, "invalid_input", "text"),
    (
        "POST",
        "/v1/search",
        {"json": {"collection": "abstracts", "text": "a", "cursor": "forged"}},
        400,
        "invalid_input",
        "cursor",
    ),
    ("POST", "/v1/search", {"data": b"{", "content_type": "application/json"}, 400, "invalid_input", "body"),
    ("POST", "/v1/search", {"data": b"\xff\xfe", "content_type": "application/json"}, 400, "invalid_input", "body"),
    ("POST", "/v1/search", {"data": {"text": "a"}}, 415, "unsupported_media_type", "Content-Type"),
    (
        "POST",
        "/v1/search",
        {"data": b"{}" + b" " * 2_000_000, "content_type": "application/json"},
        413,
        "too_large",
        None,
    ),
    ("POST", "/v1/search/batch", {"json": {"searches": []}}, 400, "invalid_input", "searches"),
    ("GET", "/v1/search?collection=abstracts&text=a&format=xml", {}, 400, "invalid_input", "format"),
    ("GET", "/v1/search?collection=abstracts&text=a&size=1&size=2", {}, 400, "invalid_input", "size"),
    (
        "GET",
        "/v1/search?collection=abstracts&text=a&filter.published=soon",
        {},
        400,
        "invalid_input",
        "filters.published",
    ),
    ("GET", "/v1/documents/pm/2", {}, 400, "invalid_input", "collection"),
    ("GET", "/v1/documents/pm/2?collection=nothing", {}, 400, "invalid_input", "collection"),
    ("GET", "/v1/documents/pm/2?collection=../etc", {}, 400, "invalid_input", "collection"),
    ("GET", "/v1/documents/pm/2?collection=abstracts&format=docx", {}, 400, "invalid_input", "format"),
    ("GET", "/v1/documents/pm/99?collection=abstracts", {}, 404, "not_found", "id"),
    ("GET", f"/v1/documents/{'x' * 10_000}?collection=abstracts", {}, 404, "not_found", "id"),
    ("GET", "/v1/documents//pm//2?collection=abstracts", {}, 404, "not_found", "id"),
    ("GET", "/v1/nothing", {}, 404, "not_found", None),
    ("DELETE", "/v1/search", {}, 405, "method_not_allowed", None),
    ("PUT", "/v1/documents/pm/2", {}, 405, "method_not_allowed", None),
]


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "code", "field"),
    BAD,
    ids=[f"{row[0]} {row[1][:50]} {row[5]} {n}" for n, row in enumerate(BAD)],
)
def test_bad_input_is_answered_in_one_form(client, method, path, sent, status, code, field):
    response = client.open(path, method=method, **sent)
    assert response.status_code == status
    conforms(wire.ErrorAnswer, response.json)
    assert (response.json["error"]["code"], response.json["error"]["field"]) == (code, field)
    assert len(response.json["error"]["message"]) < 500


def test_a_lone_surrogate_is_cleaned(client):
    response = client.post(
        "/v1/search",
        data=b'{"collection": "abstracts", "text": "aspirin \\ud800 stroke"}',
        content_type="application/json",
    )
    assert ids(response)[0] == "pm/2"


def test_a_wrong_method_gets_the_allowed_ones(client):
    response = client.delete("/v1/search")
    assert set(response.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}


def test_a_bug_shows_no_internals(app):
    app.testing = False
    app.add_url_rule("/v1/fault", "fault", lambda: 1 / 0)
    response = app.test_client().get("/v1/fault", headers={"X-Request-ID": "abc-1"})
    assert response.status_code == 500
    assert response.json == {
        "error": {
            "code": "internal",
            "message": "something went wrong; the log has the details under request abc-1",
            "field": None,
        }
    }
