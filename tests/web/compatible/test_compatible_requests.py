"""Requests that are wrong in form, several searches in one, and who may see what, for clients of OpenSearch."""

import json
import re
import time
from dataclasses import replace

import pytest
from portal_home import abstract, settings_of

from search.bootstrap import Medley
from search.pipeline import freshness
from web import create_app

LINES = {"Content-Type": "application/x-ndjson"}
STATINS = {"query": {"match": {"text": "statins"}}}


def lines(*items):
    return "".join(f"{item if isinstance(item, str) else json.dumps(item)}\n" for item in items)


def several(client, *items, headers=None, path="/opensearch/_msearch"):
    return client.post(path, data=lines(*items), headers=LINES | (headers or {}))


def reason(answer):
    body = answer.json if hasattr(answer, "json") else answer
    assert set(body) == {"error", "status"}
    (cause,) = body["error"]["root_cause"]
    assert cause == {name: body["error"][name] for name in ("type", "reason")}
    return body["status"], cause["type"], cause["reason"]


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "kind", "said"),
    [
        (
            "POST",
            "abstracts/_search",
            {"data": "{", "content_type": "application/json"},
            400,
            "parsing",
            "not valid JSON",
        ),
        ("POST", "abstracts/_search", {"json": [1]}, 400, "parsing", "a body that is not an object"),
        ("POST", "abstracts/_search", {"json": {"foo": 1}}, 400, "parsing", "the option [foo]"),
        ("POST", "abstracts/_search", {"data": "{}", "content_type": "text/plain"}, 415, "media_type", "must be JSON"),
        ("POST", "abstracts/_search?q=a", {}, 400, "illegal_argument", "the parameter [q]"),
        ("POST", "abstracts/_search?scroll=1m", {}, 400, "illegal_argument", "the parameter [scroll]"),
        ("POST", "abstracts/_search?search_pipeline=x", {}, 400, "illegal_argument", "the parameter [search_pipeline]"),
        ("POST", "abstracts/_search?filter_path=hits", {}, 400, "illegal_argument", "the parameter [filter_path]"),
        ("POST", "abstracts/_search?size=1&size=2", {}, 400, "illegal_argument", "given 2 times"),
        ("POST", "abstracts/_search?size=ten", {}, 400, "illegal_argument", "a whole number"),
        (
            "POST",
            "abstracts/_search?_source=a&_source_includes=b",
            {},
            400,
            "illegal_argument",
            "give [_source], or [_source_includes]",
        ),
        ("POST", "_search", {}, 400, "illegal_argument", "a search of several collections"),
        ("POST", "_all/_search", {}, 400, "illegal_argument", "a search of several collections"),
        ("POST", "abs*/_search", {}, 400, "illegal_argument", "a search of several collections"),
        ("POST", "abstracts,notes/_search", {}, 400, "illegal_argument", "a search of several collections"),
        ("POST", "letters/_search", {}, 404, "index_not_found", "there is no collection 'letters'"),
        ("GET", "letters/_mapping", {}, 404, "index_not_found", "there is no collection 'letters'"),
        ("GET", "Letters", {}, 400, "illegal_argument", "not a valid collection name"),
        ("GET", "_cat", {}, 400, "illegal_argument", "not a valid collection name"),
        ("GET", "_cat/indices", {}, 400, "illegal_argument", "the address [_cat/indices] with GET"),
        ("POST", "_bulk", {"json": {}}, 400, "illegal_argument", "the address [_bulk] with POST"),
        ("PUT", "abstracts", {"json": {}}, 400, "illegal_argument", "the address [abstracts] with PUT"),
        ("DELETE", "abstracts", {}, 400, "illegal_argument", "the address [abstracts] with DELETE"),
        ("POST", "abstracts/_doc", {"json": {}}, 400, "illegal_argument", "documents are sent to /v1/documents"),
        ("DELETE", "abstracts/_doc/pm/1", {}, 400, "illegal_argument", "with DELETE"),
    ],
)
def test_every_error_has_the_form_of_opensearch(client, method, path, sent, status, kind, said):
    answer = client.open(f"/opensearch/{path}", method=method, **sent)
    found = reason(answer)
    assert answer.status_code == found[0] == status
    assert found[1].startswith(kind), found
    assert said in found[2]


def test_deep_nesting_of_any_kind_is_refused(client):
    deep = '{"bool": {"filter": ' * 20_000 + "{}" + "}}" * 20_000
    answer = client.post("/opensearch/abstracts/_search", data=f'{{"query": {deep}}}', content_type="application/json")
    assert reason(answer)[0] == 400


def test_large_bodies_are_refused(client):
    large = json.dumps({"query": {"match": {"text": "a" * 2_100_000}}})
    for path in ("abstracts/_search", "_msearch"):
        answer = client.post(f"/opensearch/{path}", data=large, content_type="application/json")
        assert reason(answer)[:2] == (413, "content_too_long_exception")
    answer = client.post("/opensearch/abstracts/_search", json={"query": {"match": {"text": "a " * 5_001}}})
    assert reason(answer)[0] == 400
    assert "at most 10,000 are allowed" in reason(answer)[2]


def test_errors_do_not_repeat_what_is_long(client):
    for query in ({"term": {"a" * 1_000_000: "x"}}, {"b" * 1_000_000: {}}, {"match": {"text": {"c" * 1_000_000: 1}}}):
        answer = client.post("/opensearch/abstracts/_search", json={"query": query})
        assert answer.status_code == 400
        assert len(answer.data) < 3_000


def test_patterns_take_no_time(client):
    started = time.monotonic()
    for pattern in ("*a" * 100, "*" * 200, "[" * 200):
        answer = client.post("/opensearch/abstracts/_search", json={"_source": [pattern] * 100})
        assert answer.status_code == 200
    assert time.monotonic() - started < 5


def test_a_bug_is_told_by_the_id_of_its_request(app, monkeypatch):
    app.testing = False
    monkeypatch.setattr("web.compatible.routes.read_body", lambda *_: 1 / 0)
    answer = app.test_client().get("/opensearch/abstracts/_search", headers={"X-Request-ID": "abc"})
    assert reason(answer)[0] == 500
    assert "under request abc" in reason(answer)[2]


def test_several_searches_are_answered_apart(client):
    answer = several(
        client,
        {"index": "abstracts"},
        STATINS | {"size": 1},
        {"index": "abstracts", "search_type": "query_then_fetch", "preference": "x", "ignore_unavailable": True},
        {"query": {"fuzzy": {"text": "a"}}},
        {"index": ["notes"]},
        {"query": {"match": {"text": "pneumonia"}}, "size": 0},
        {"index": "letters"},
        {},
        {},
        {},
        {"index": "abstracts"},
        [],
    )
    assert answer.status_code == 200
    found = answer.json["responses"]
    assert [item["status"] for item in found] == [200, 400, 200, 404, 400, 400]
    assert found[0]["hits"]["total"]["value"] == 3
    assert reason(found[1])[1:] == (
        "parsing_exception",
        "[query.fuzzy] the query [fuzzy] is not supported: supported are bool, constant_score, exists, hybrid, ids, knn, "
        "match, match_all, multi_match, neural, query_string, range, term, terms",
    )
    assert found[2]["hits"]["total"]["value"] == 3
    assert reason(found[3])[1] == "index_not_found_exception"
    assert "a search of several collections" in reason(found[4])[2]
    assert "must be an object" in reason(found[5])[2]
    assert answer.json["took"] == found[0]["took"] + found[2]["took"]
    alone = client.post("/opensearch/abstracts/_search", json=STATINS | {"size": 1}).json
    for one in (alone, found[0]):
        one.pop("took")
    assert found[0] == alone | {"status": 200}


def test_headers_of_several_searches_can_be_empty(client):
    answer = several(client, "", STATINS, {"index": "notes"}, {"size": 0}, path="/opensearch/abstracts/_msearch")
    assert [item["hits"]["total"]["value"] for item in answer.json["responses"]] == [3, 3]
    whole = several(client, {}, STATINS, path="/opensearch/abstracts/_msearch?rest_total_hits_as_int=true")
    assert whole.json["responses"][0]["hits"]["total"] == 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "it has 0 lines"),
        (lines({"index": "abstracts"}), "it has 1 lines"),
        (lines({"index": "abstracts"}, "{"), "line 2 cannot be read: it is not valid JSON"),
        (lines("x", {}), "line 1 cannot be read"),
        (lines({"index": "abstracts"}, ""), "line 2 cannot be read"),
        (lines({"index": "abstracts"}, "\xff"), "line 2 cannot be read"),
        (lines([], {}), "must be an object"),
        (lines({"index": 5}, {}), "[index] must be the name of a collection"),
        (lines({"index": ["a", "b"]}, {}), "a search of several collections"),
        (lines({"index": "abstracts", "search_type": "dfs_query_then_fetch"}, {}), "[search_type] with the value"),
        (lines({"index": "abstracts", "routing": "x"}, {}), "the option [routing]"),
        (lines(*[{}, {}] * 51), "has 51 searches; at most 50"),
    ],
)
def test_lines_that_cannot_be_read_are_refused_whole(client, logged, body, said):
    answer = client.post("/opensearch/abstracts/_msearch", data=body.encode("latin-1"), headers=LINES)
    assert answer.status_code == 400
    assert said in reason(answer)[2]
    assert logged() == []


def test_several_searches_cost_no_more_than_a_batch(home):
    client = create_app(replace(settings_of(home), batch_candidates=50)).test_client()
    refused = several(client, *[{"index": "abstracts"}, STATINS] * 2)
    assert refused.status_code == 400
    assert "a batch may have 50" in reason(refused)[2]
    answer = several(client, *[{"index": "abstracts"}, {"size": 0}] * 2)
    assert [item["status"] for item in answer.json["responses"]] == [200, 200]


def test_what_is_missing_is_told_in_a_warning(home):
    medley = Medley.open(settings_of(home))
    broken = replace(medley, services=replace(medley.services, encoder=lambda _: None))
    client = create_app(broken).test_client()
    answer = client.post("/opensearch/abstracts/_search", json=STATINS)
    (told,) = answer.json["ext"]["medley"]["degraded"]
    assert "the leg 'dense' was not searched" in told
    (header,) = answer.headers.getlist("Warning")
    assert re.fullmatch(r'299 Medley "no encoder for \'dense\'.*"', header)


def test_a_caller_finds_what_they_may_see(client, token, logged):
    headers = token("ada", "public")
    answer = client.post("/opensearch/abstracts/_search", json=STATINS | {"size": 50}, headers=headers)
    assert "secret/1" not in {hit["_id"] for hit in answer.json["hits"]["hits"]}
    assert answer.json["hits"]["total"]["value"] == 2
    counted = client.post("/opensearch/abstracts/_count", headers=headers).json
    assert counted["count"] == 4
    assert client.get("/opensearch/abstracts/_doc/secret/1", headers=headers).status_code == 404
    wanted = {"size": 0, "aggs": {"years": {"terms": {"field": "year"}}}}
    years = client.post("/opensearch/abstracts/_search", json=wanted, headers=headers).json["aggregations"]["years"]
    assert 2021.0 not in {item["key"] for item in years["buckets"]}
    assert list(client.get("/opensearch/_mapping", headers=headers).json) == ["abstracts"]
    assert {(line["user"], line["status"]) for line in logged()} == {("ada", 200), ("ada", 404)}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("POST", "abstracts/_search"),
        ("POST", "_msearch"),
        ("GET", "abstracts/_doc/pm/1"),
        ("GET", "_mapping"),
        ("GET", "abstracts"),
        ("POST", "_bulk"),
    ],
)
def test_no_token_no_answer(client, token, method, path):
    token("ada", "public")
    for headers, said in (({}, "token"), ({"Authorization": "Bearer wrong"}, "the token is not valid")):
        answer = client.open(f"/opensearch/{path}", method=method, headers=headers)
        assert reason(answer)[:2] == (401, "security_exception")
        assert said in reason(answer)[2]
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_session_cannot_send_searches_for_another_site(app, client, home, token):
    secret = token("ada", "public")["Authorization"].split()[1]
    form = re.search(r'name="csrf" value="([^"]+)"', client.get("/login").text)[1]
    assert client.post("/login", data={"csrf": form, "token": secret}).status_code == 303
    assert client.get("/opensearch/abstracts/_search").status_code == 200
    answer = client.post("/opensearch/abstracts/_search", json=STATINS)
    assert reason(answer)[:2] == (401, "security_exception")


def test_the_access_log_has_what_was_searched_and_shown(client, logged):
    query = {
        "bool": {
            "should": [{"match": {"text": "statins"}}],
            "filter": [{"term": {"journal": "Heart"}}],
            "must_not": [{"term": {"journal": "Brain"}}],
        }
    }
    shown = client.post("/opensearch/abstracts/_search", json={"query": query, "from": 1, "size": 1}).json
    (hit,) = shown["hits"]["hits"]
    client.post("/opensearch/abstracts/_search", json={"size": 0})
    client.post("/opensearch/abstracts/_count", json={"query": {"term": {"journal": "Heart"}}})
    client.post("/opensearch/abstracts/_search", json={"query": {"ids": {"values": ["pm/1"]}}})
    found = [(line["action"], line["asked"], line["ids"], line["status"]) for line in logged()]
    filters = [{"field": "journal", "any": ["Heart"]}, {"field": "journal", "none": ["Brain"]}]
    assert found == [
        ("search", {"text": "statins", "filters": filters, "plain": True, "everything": True}, [hit["_id"]], 200),
        ("search", {"everything": True}, [], 200),
        ("search", {"filters": {"journal": ["Heart"]}, "everything": True}, [], 200),
        ("search", {"text": 'id:"pm/1"'}, ["pm/1"], 200),
    ]


def test_patients_that_an_aggregation_names_are_logged(client, logged):
    body = {"query": {"match_all": {}}, "size": 0, "aggs": {"patients": {"terms": {"field": "patient", "size": 100}}}}
    answer = client.post("/opensearch/notes/_search", json=body).json
    shown = {item["key"] for item in answer["aggregations"]["patients"]["buckets"]}
    assert shown
    (line,) = logged()
    assert set(line["asked"]["counted"]["patient"]) == shown


def test_clients_that_want_types_in_the_names_of_aggregations_get_them(client):
    aggregations = {
        "journals": {"terms": {"field": "journal"}},
        "years": {"terms": {"field": "year"}},
        "days": {"terms": {"field": "published"}},
        "by_year": {"date_histogram": {"field": "published", "calendar_interval": "year"}},
    }
    body = STATINS | {"size": 0, "aggs": aggregations}
    address = "/opensearch/abstracts/_search"
    plain, typed = client.post(address, json=body).json, client.post(f"{address}?typed_keys=true", json=body).json
    names = ["sterms#journals", "dterms#years", "lterms#days", "date_histogram#by_year"]
    assert list(typed["aggregations"]) == names
    assert [*typed["aggregations"].values()] == [*plain["aggregations"].values()]
    sent = ({"index": "abstracts"}, body, {"index": "nowhere"}, {})
    first, second = several(client, *sent, path="/opensearch/_msearch?typed_keys=true").json["responses"]
    assert list(first["aggregations"]) == names
    assert second["status"] == 404


def test_a_key_that_occurs_twice_is_refused(client):
    content = b'{"query": {"bool": {"filter": {"term": {"journal": "Heart"}}, "filter": {"term": {"year": 2018}}}}}'
    answer = client.post("/opensearch/abstracts/_search", data=content, content_type="application/json")
    assert reason(answer)[0] == 400
    assert "the key 'filter' occurs twice" in answer.json["error"]["reason"]


def test_what_cannot_be_counted_is_refused(client, app, monkeypatch):
    medley = app.extensions["medley"].medley
    body = {"query": {"match_all": {}}, "size": 1, "aggs": {"journals": {"terms": {"field": "journal"}}}}
    assert client.post("/opensearch/abstracts/_search", json=body).status_code == 200
    monkeypatch.setattr(freshness, "MAX_WITHHELD", 0)
    medley.collections.store("abstracts").put(
        [abstract("pm/1", "A new title", "public", 2016, "Heart", "Another text.")]
    )
    answer = client.post("/opensearch/abstracts/_search", json=body)
    assert reason(answer)[0] == 503
    assert "nothing can be counted" in answer.json["error"]["reason"]
    (alone,) = several(client, {"index": "abstracts"}, body).json["responses"]
    assert alone["status"] == 503
    assert client.post("/opensearch/abstracts/_search", json=body | {"aggs": {}}).status_code == 200


def test_refused_searches_of_collections_are_logged(client, logged):
    client.post("/opensearch/letters/_search")
    several(client, {"index": "letters"}, {})
    assert [(line["action"], line["collection"], line["status"]) for line in logged()] == [
        ("search", "letters", 404),
        ("search", "letters", 404),
    ]


def test_busy_callers_are_told_to_come_back(app):
    shares = app.extensions["medley"].searches
    shares._running["address 127.0.0.1"] = shares.per_caller
    shares._seconds = 0.01
    answer = app.test_client().post("/opensearch/abstracts/_search", json=STATINS)
    assert reason(answer)[:2] == (429, "rejected_execution_exception")
    assert int(answer.headers["Retry-After"]) > 0


def test_one_of_several_searches_tells_no_hidden_collection_from_an_absent_one(client, token):
    headers = token("ada", "public")
    answers = []
    for name in ("notes", "letters"):
        found = several(client, {"index": name}, {}, {"index": "abstracts"}, {"size": 0}, headers=headers)
        assert [item["status"] for item in found.json["responses"]] == [404, 200]
        answers.append(json.dumps(found.json["responses"][0]).replace(name, "NAME"))
    assert answers[0] == answers[1]
