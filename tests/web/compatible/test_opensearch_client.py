"""OpenSearch's own client against the gateway, and beside a real node that has the same documents."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import start, stop, wait_for_line
from opensearch_node import free_port
from opensearchpy import OpenSearch, OpenSearchWarning, helpers
from opensearchpy.exceptions import AuthenticationException, NotFoundError, RequestError, TransportError
from portal_home import ABSTRACTS, fill, serve

from web.access import tokens

HEART = {"term": {"journal": "Heart"}}
STATINS = {"match": {"text": "statins"}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("compatible"))


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    tokens.add(home, "nobody", ["none"])  # guarded from the start
    yield from serve(home)


def client_of(address: str, token: str) -> OpenSearch:
    return OpenSearch(f"{address}/opensearch", headers={"Authorization": f"Bearer {token}"}, timeout=60, max_retries=0)


@pytest.fixture
def client(home: Path, address: str) -> Iterator[OpenSearch]:
    with client_of(address, tokens.add(home, "ada", ["public"])) as made:
        yield made


def ids(answer: Any) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def test_what_a_client_asks_first(client: OpenSearch) -> None:
    assert client.ping()
    version = client.info()["version"]
    assert (version["distribution"], version["number"]) == ("opensearch", "3.0.0")
    assert client.indices.exists(index="abstracts")
    assert not client.indices.exists(index="notes")  # hidden from this caller
    assert not client.indices.exists(index="letters")
    properties = client.indices.get_mapping(index="abstracts")["abstracts"]["mappings"]["properties"]
    assert properties["year"] == {"type": "double"}


def test_searches_counts_and_documents(client: OpenSearch) -> None:
    found = client.search(index="abstracts", body={"query": STATINS}, size=2, _source_includes=["title"])
    assert set(ids(found)) == {"pm/1", "pm/4"}
    assert [set(hit["_source"]) for hit in found["hits"]["hits"]] == [{"title"}, {"title"}]
    assert client.search(index="abstracts", body={"query": STATINS}, rest_total_hits_as_int=True)["hits"]["total"] == 2
    assert client.count(index="abstracts", body={"query": HEART})["count"] == 2
    assert client.get(index="abstracts", id="pm/1")["_source"]["year"] == 2015
    assert client.exists(index="abstracts", id="pm/1")
    assert not client.exists(index="abstracts", id="secret/1")
    with pytest.raises(NotFoundError):
        client.get(index="abstracts", id="secret/1")


def test_several_searches(client: OpenSearch) -> None:
    bodies = [{"index": "abstracts"}, {"query": STATINS}, {}, {"query": {"fuzzy": {}}}, {"index": "notes"}, {}]
    answers = client.msearch(body=bodies, index="abstracts")["responses"]
    assert [item["status"] for item in answers] == [200, 400, 404]
    assert set(ids(answers[0])) >= {"pm/1", "pm/4"}


def test_errors_are_those_of_the_client(client: OpenSearch, address: str) -> None:
    with pytest.raises(RequestError) as refused:
        client.search(index="abstracts", body={"query": {"fuzzy": {"text": "a"}}})
    assert (refused.value.status_code, refused.value.error) == (400, "parsing_exception")
    assert "the query [fuzzy] is not supported" in refused.value.info["error"]["reason"]
    for name in ("notes", "letters"):
        with pytest.raises(NotFoundError, match="index_not_found_exception"):
            client.search(index=name)
    with pytest.raises(AuthenticationException, match="security_exception"):
        client_of(address, "wrong").info()
    for write in (
        lambda: client.index(index="abstracts", body={"title": "a"}),
        lambda: client.indices.create(index="mine"),
        lambda: client.delete(index="abstracts", id="pm/1"),
        lambda: client.bulk(body=[{"index": {"_index": "abstracts"}}, {"title": "a"}]),
    ):
        with pytest.raises(RequestError, match="is not supported"):
            write()
    with pytest.raises(RequestError, match="scroll"):
        next(helpers.scan(client, index="abstracts"))


def test_what_was_left_out_is_shown_to_the_user_of_the_client(client: OpenSearch, monkeypatch: Any) -> None:
    monkeypatch.setattr("web.compatible.answer._limits", lambda *_: ['the "years" are cut — at 100'])
    with pytest.warns(OpenSearchWarning, match="the 'years' are cut . at 100"):
        client.search(index="abstracts", body={"query": STATINS})


@pytest.mark.slow
def test_a_served_gateway(home: Path) -> None:
    token, port = tokens.add(home, "bob", ["public"]), free_port()
    process = start(home, "serve", "--port", str(port), "--workers", "1")
    try:
        wait_for_line(process, "is ready")
        address = f"http://127.0.0.1:{port}"
        with client_of(address, token) as served:
            assert set(ids(served.search(index="abstracts", body={"query": STATINS}))) >= {"pm/1", "pm/4"}
            assert served.msearch(body=[{"index": "abstracts"}, {"size": 0}])["responses"][0]["status"] == 200
            with pytest.raises(TransportError) as refused:
                served.search(index="abstracts", body={"query": {"match": {"text": "a" * 2_100_000}}})
            assert (refused.value.status_code, refused.value.error) == (413, "content_too_long_exception")
        request = urllib.request.Request(f"{address}/opensearch/abstracts/_search", data=b"{}")
        with pytest.raises(urllib.error.HTTPError) as unauthorized:
            urllib.request.urlopen(request)
        assert unauthorized.value.code == 401
        assert json.loads(unauthorized.value.read())["status"] == 401
    finally:
        errors = stop(process)
    assert "Traceback" not in errors


INDEX = "medley-compatible-test"


@pytest.fixture(scope="module")
def cluster(node: Any, home: Path, address: str) -> Iterator[OpenSearch]:
    """A node with the documents of the abstracts, under the mapping that the gateway tells of them."""
    with client_of(address, tokens.add(home, "all", ["*"])) as ours:
        mapping = ours.indices.get_mapping(index="abstracts")["abstracts"]["mappings"]
        documents = [ours.get(index="abstracts", id=row[0]) for row in ABSTRACTS]
    theirs = OpenSearch(node.url, timeout=60)
    theirs.indices.delete(index=INDEX, ignore_unavailable=True)
    theirs.indices.create(index=INDEX, body={"mappings": mapping, "settings": {"number_of_shards": 1}})
    for item in documents:
        theirs.index(index=INDEX, id=item["_id"], body=item["_source"], refresh=True)
    yield theirs
    theirs.indices.delete(index=INDEX)
    theirs.close()


@pytest.fixture
def everything(home: Path, address: str) -> Iterator[OpenSearch]:
    with client_of(address, tokens.add(home, "everybody", ["*"])) as made:
        yield made


COUNTED = {
    "journals": {"terms": {"field": "journal", "size": 2}},
    "numbers": {"terms": {"field": "year"}},
    "days": {"terms": {"field": "published"}},
    "often": {"terms": {"field": "source", "min_doc_count": 2}},
    "years": {"date_histogram": {"field": "published", "calendar_interval": "year"}},
    "some": {"date_histogram": {"field": "published", "calendar_interval": "1y", "min_doc_count": 1, "format": "yyyy"}},
}
BODIES: dict[str, dict[str, Any]] = {
    "everything": {"query": {"match_all": {}}},
    "counts alone": {"size": 0},
    "a term": {"query": HEART},
    "terms": {"query": {"terms": {"journal": ["Heart", "Brain"]}}},
    "a number": {"query": {"term": {"year": 2020}}},
    "a match of a keyword": {"query": {"match": {"journal": "Heart"}}},
    "a range": {"query": {"range": {"year": {"gt": 2015, "lte": 2020}}}},
    "days": {"query": {"range": {"published": {"gte": "2018-06-01", "lt": "2020-06-01"}}}},
    "later": {"query": {"range": {"published": {"gt": "2018-06-01"}}}},
    "moments": {"query": {"range": {"published": {"gte": "2018-06-01T00:00:01Z"}}}},
    "milliseconds": {"query": {"range": {"published": {"lte": 1590969600000, "format": "epoch_millis"}}}},
    "a field": {"query": {"exists": {"field": "year"}}},
    "none of": {"query": {"bool": {"must_not": [HEART]}}},
    "nested": {
        "query": {
            "bool": {
                "filter": [{"bool": {"should": [HEART, {"term": {"journal": "Brain"}}]}}],
                "must": [{"range": {"year": {"lte": 2020}}}],
                "must_not": [{"terms": {"journal": ["Brain"]}}],
            }
        }
    },
    "ids": {"query": {"ids": {"values": ["pm/2", "secret/1", "pm/99"]}}},
    "a word": {"query": {"bool": {"must": [{"match": {"text": "metformin"}}], "filter": [{"match_all": {}}]}}},
    "parts": {"query": HEART, "_source": {"includes": ["t*", "year"], "excludes": ["text"]}},
    "up to": {"query": {"match_all": {}}, "track_total_hits": 3},
    "no total": {"query": {"match_all": {}}, "track_total_hits": False},
}


def comparable(answer: Any, sources: bool) -> dict[str, Any]:
    """What has to be the same: all but times, scores, and hits that vectors alone found; hits in order of their ids."""
    hits = [hit for hit in answer["hits"]["hits"] if hit.get("fields", {}).get("lexical", [True]) == [True]]
    return {
        "total": answer["hits"].get("total"),
        "ids": sorted(hit["_id"] for hit in hits),
        "sources": {hit["_id"]: hit["_source"] for hit in hits} if sources else {},
        "aggregations": answer.get("aggregations"),
        "shape": sorted(set(answer) - {"ext", "terminated_early"}),
    }


@pytest.mark.parametrize("name", BODIES)
def test_a_node_answers_the_same(cluster: OpenSearch, everything: OpenSearch, name: str) -> None:
    body, sources = BODIES[name] | {"aggs": COUNTED}, name == "parts"
    ours, theirs = everything.search(index="abstracts", body=body), cluster.search(index=INDEX, body=body)
    assert comparable(ours, sources) == comparable(theirs, sources)


@pytest.mark.parametrize("order", [[{"published": "desc"}], [{"year": {"order": "asc"}}, "_score"], "year:desc"])
def test_a_node_sorts_the_same(cluster: OpenSearch, everything: OpenSearch, order: Any) -> None:
    found = []
    for client, index in ((everything, "abstracts"), (cluster, INDEX)):
        body = {"query": HEART} if isinstance(order, str) else {"query": HEART, "sort": order}
        given = {"sort": order} if isinstance(order, str) else {}
        hits = client.search(index=index, body=body, params=given)["hits"]["hits"]
        found.append([(hit["_id"], hit["sort"][0]) for hit in hits])
    assert found[0] == found[1]
    assert len(found[0]) == 3
