"""`_search`, `_count`, `_doc` and `_mapping` over HTTP, by comparing complete answers."""

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from portal_home import ABSTRACTS, abstract, fill, settings_of

from mappings.documents import Access
from search.pipeline.paging.cursor import query_mark
from search.query import Query, QueryVector
from web import create_app
from web.cli.indexing import fill_quietly

MATCH = {"match": {"text": "aspirin stroke"}}
STATINS = {"match": {"text": "statins"}}


WHOLE = {
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 1, "relation": "eq"},
        "hits": [
            {
                "_index": "abstracts",
                "_id": "pm/2",
                "_version": 1,
                "_source": {
                    "title": "Aspirin for prevention of stroke",
                    "text": "Results: Aspirin reduced stroke in adults. Bleeding was more frequent.",
                    "journal": "Brain",
                    "published": "2018-06-01",
                    "source": "trials",
                    "year": 2018,
                },
                "fields": {"passage": ["pm/2@1#0"], "lexical": [True]},
                "highlight": {
                    "title": ["<em>Aspirin</em> for prevention of <em>stroke</em>"],
                    "text": ["Results: <em>Aspirin</em> reduced <em>stroke</em> in adults."],
                },
            }
        ],
    },
    "aggregations": {
        "journals": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 0,
            "buckets": [{"key": "Brain", "doc_count": 1}],
        },
        "years": {"buckets": [{"key_as_string": "2018", "key": 1514764800000, "doc_count": 1}]},
    },
    "ext": {
        "medley": {
            "degraded": [],
            "partial": [],
            "notes": [],
            "reranked": {"scored": 0, "candidates": 0, "closely": 0, "wanted": 0},
            "invented": False,
        }
    },
}
"""The answer to a search for one hit, without its time, its scores and its index."""


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """A client of a portal that no test changes."""
    return create_app(settings_of(fill(tmp_path_factory.mktemp("still")))).test_client()


def post(client, body, collection="abstracts", headers=None, **parameters):
    return client.post(f"/opensearch/{collection}/_search", json=body, headers=headers, query_string=parameters)


def searched(client, body, **parameters):
    answer = post(client, body, **parameters)
    assert answer.status_code == 200, answer.json
    return answer.json


def ids(body):
    return [hit["_id"] for hit in body["hits"]["hits"]]


def test_a_complete_answer(still):
    body = searched(
        still,
        {
            "query": MATCH,
            "size": 1,
            "version": True,
            "highlight": {"fields": {"title": {}, "text": {"number_of_fragments": 1}}},
            "aggs": {
                "journals": {"terms": {"field": "journal"}},
                "years": {"date_histogram": {"field": "published", "calendar_interval": "year", "format": "yyyy"}},
            },
        },
    )
    assert body.pop("took") >= 0
    index = body["ext"]["medley"].pop("index")
    assert index == "abstracts-1"
    (score,) = {body["hits"].pop("max_score"), body["hits"]["hits"][0].pop("_score")}
    assert 0 < score <= 1
    assert body == WHOLE


def test_it_is_the_search_of_the_api(still):
    """The same hits with the same scores, totals and explanations, because it is the same search."""
    ours = still.post("/v1/search", json={"collection": "abstracts", "text": "statins", "explain": True}).json
    theirs = searched(still, {"query": STATINS, "explain": True})
    assert [(hit["document"], hit["score"]) for hit in ours["hits"]] == [
        (hit["_id"], hit["_score"]) for hit in theirs["hits"]["hits"]
    ]
    assert theirs["hits"]["total"]["value"] == ours["total"]["value"] == 3
    for one, other in zip(ours["hits"], theirs["hits"]["hits"], strict=True):
        explained = other["_explanation"]
        assert explained["value"] == one["score"]
        assert sum(part["value"] for part in explained["details"]) == pytest.approx(one["score"])
        fused = next(part for part in explained["details"] if part["description"] == "share of fused")["details"][0]
        assert sum(part["value"] for part in fused["details"]) == pytest.approx(fused["value"])


def test_pages_are_cut_from_one_ranking(still):
    whole = ids(searched(still, {"query": STATINS, "size": 5}))
    assert len(whole) == 5
    pages = [ids(searched(still, {"query": STATINS, "from": start, "size": 2})) for start in (0, 2, 4, 6)]
    assert [*pages[0], *pages[1], *pages[2]] == whole
    assert pages[3] == []


def test_nothing_but_filters_and_counts(still):
    body = searched(
        still,
        {
            "size": 0,
            "query": {"bool": {"filter": [{"range": {"year": {"gte": 2015}}}]}},
            "aggs": {
                "journals": {"terms": {"field": "journal", "size": 1}},
                "several": {"terms": {"field": "journal", "min_doc_count": 2}},
                "numbers": {"terms": {"field": "year"}},
                "days": {"terms": {"field": "published"}},
                "years": {"date_histogram": {"field": "published", "calendar_interval": "year"}},
                "filled": {"date_histogram": {"field": "published", "interval": "1y", "min_doc_count": 1}},
            },
        },
    )
    assert body["hits"] == {"total": {"value": 5, "relation": "eq"}, "max_score": None, "hits": []}
    counted = body["aggregations"]
    assert counted["journals"] == {
        "doc_count_error_upper_bound": 0,
        "sum_other_doc_count": 2,
        "buckets": [{"key": "Heart", "doc_count": 3}],
    }
    assert [item["key"] for item in counted["several"]["buckets"]] == ["Heart"]
    assert [(item["key"], item["doc_count"]) for item in counted["numbers"]["buckets"]] == [
        (2020.0, 2),
        (2015.0, 1),
        (2018.0, 1),
        (2021.0, 1),
    ]
    assert counted["days"]["buckets"][0] == {"key": 1590969600000, "key_as_string": "2020-06-01", "doc_count": 2}
    found = [(item["key_as_string"], item["doc_count"]) for item in counted["years"]["buckets"]]
    years = (1, 0, 0, 1, 0, 2, 1)
    assert found == [(f"{year}-01-01", count) for year, count in zip(range(2015, 2022), years, strict=True)]
    assert [item["doc_count"] for item in counted["filled"]["buckets"]] == [1, 1, 2, 1]


def test_the_parts_of_a_source_and_of_hits(still):
    def source(wanted: Any, **parameters: Any) -> Any:
        (hit,) = searched(still, {"query": MATCH, "size": 1, "_source": wanted}, **parameters)["hits"]["hits"]
        return hit.get("_source")

    assert source(False) is None
    assert source(["title", "y*"]) == {"title": "Aspirin for prevention of stroke", "year": 2018}
    assert source("year") == {"year": 2018}
    assert source({"excludes": ["t*", "published"]}) == {"journal": "Brain", "source": "trials", "year": 2018}
    assert source({"includes": ["year", "title"], "excludes": "t*"}) == {"year": 2018}
    assert source(True, _source_includes="year,journal") == {"year": 2018, "journal": "Brain"}
    assert source(True, _source="false") is None


def test_highlights_have_the_tags_that_are_wanted(still):
    def highlight(**wanted: Any) -> Any:
        return searched(still, {"query": MATCH, "size": 1, "highlight": wanted})["hits"]["hits"][0]["highlight"]

    marked = highlight(fields={"text": {"pre_tags": ["<b>"], "post_tags": ["</b>"], "number_of_fragments": 0}})
    assert marked == {"text": ["Results: <b>Aspirin</b> reduced <b>stroke</b> in adults. Bleeding was more frequent."]}
    assert highlight(fields=[{"t*": {}}], pre_tags=["*"], post_tags=["*"], encoder="html")["title"] == [
        "*Aspirin* for prevention of *stroke*"
    ]


def test_a_text_with_markup_is_escaped_on_request(app, client):
    medley = app.extensions["medley"].medley
    store = medley.collections.store("abstracts")
    store.put([abstract("x/1", "On <b>zinc</b> & colds", "public", 2022, "Heart", "Zinc <i>shortened</i> colds.")])
    fill_quietly(medley, "abstracts")
    wanted = {"query": {"match": {"text": "zinc"}}, "size": 1, "highlight": {"fields": {"*": {}}, "encoder": "html"}}
    marked = searched(client, wanted)["hits"]["hits"][0]["highlight"]
    assert marked["title"] == ["On &lt;b&gt;<em>zinc</em>&lt;/b&gt; &amp; colds"]
    assert marked["text"] == ["Results: <em>Zinc</em> &lt;i&gt;shortened&lt;/i&gt; colds."]


def test_sorting_by_a_field(still):
    body = searched(still, {"query": STATINS, "sort": [{"published": "desc"}, "_score"]})
    assert ids(body)[0] == "secret/1"
    days = [hit["sort"][0] for hit in body["hits"]["hits"]]
    assert days == sorted(days, reverse=True)
    assert days[0] == 1622505600000
    scores = [hit["_score"] for hit in body["hits"]["hits"]]
    assert [hit["sort"][1] for hit in body["hits"]["hits"]] == scores  # a value for each key, as OpenSearch has it
    assert body["hits"]["max_score"] == max(scores)
    plain = searched(still, {"query": STATINS, "sort": [{"published": "desc"}, "_doc"]})
    assert [hit["sort"][1] for hit in plain["hits"]["hits"]] == list(range(len(days)))
    assert {hit["_score"] for hit in plain["hits"]["hits"]} == {None}
    assert plain["hits"]["max_score"] is None
    scored = searched(still, {"query": STATINS, "track_scores": True}, sort="year:asc")
    assert [hit["sort"] for hit in scored["hits"]["hits"]] == [[2015], [2018], [2020], [2020], [2021]]
    assert scored["hits"]["max_score"] == max(hit["_score"] for hit in scored["hits"]["hits"])


def test_totals_as_they_are_wanted(still):
    assert "total" not in searched(still, {"query": STATINS, "track_total_hits": False})["hits"]
    assert searched(still, {"query": STATINS, "track_total_hits": 2})["hits"]["total"] == {
        "value": 2,
        "relation": "gte",
    }
    assert searched(still, {"query": STATINS, "track_total_hits": 3})["hits"]["total"] == {
        "value": 3,
        "relation": "eq",
    }
    assert searched(still, {"query": STATINS}, rest_total_hits_as_int="true")["hits"]["total"] == 3
    uncounted = {"query": STATINS, "track_total_hits": False}
    assert searched(still, uncounted, rest_total_hits_as_int="true")["hits"]["total"] == -1
    limited = {"query": STATINS, "track_total_hits": 2}
    answer = still.post("/opensearch/abstracts/_search?rest_total_hits_as_int=true", json=limited)
    assert answer.status_code == 400
    assert "with a number" in answer.get_json()["error"]["reason"]


def test_a_range_between_two_days_or_numbers_is_empty(still):
    times = {"gte": "2015-06-01T01:00:00Z", "lte": "2015-06-01T23:00:00Z"}
    days = {"gt": "2015-05-31", "lt": "2015-06-01"}
    for bounds in (
        {"published": times},
        {"published": days},
        {"year": {"gt": 2015, "lt": 2015}},
        {"year": {"gte": 2, "lte": 1}},
    ):
        assert ids(searched(still, {"query": {"range": bounds}})) == [], bounds
    since = {"range": {"published": {"gte": 0, "format": "epoch_millis"}}}
    assert len(ids(searched(still, {"query": since}))) > 3


def test_hits_are_groups_where_documents_are_grouped(still):
    body = searched(still, {"query": {"match": {"text": "pneumonia"}}}, collection="notes")
    groups = [sorted([hit["_id"], *hit["fields"].get("others", [])]) for hit in body["hits"]["hits"]]
    assert sorted(groups) == [["p1/n1", "p1/n2"], ["p2/n1"]]
    assert body["hits"]["total"] == {"value": 3, "relation": "eq"}
    assert body["hits"]["hits"][0]["fields"]["heading"]


def test_a_text_that_only_ranks_leaves_nothing_out(still):
    text = {"match": {"text": "pneumonia without effusion"}}

    def found(query: Any) -> tuple[int, list[str]]:
        body = searched(still, {"query": query}, collection="notes")
        return body["hits"]["total"]["value"], ids(body)

    assert found({"bool": {"must": [text]}}) == (2, ["p1/n1"])  # what the text rules out is left out
    total, order = found({"bool": {"should": [text], "filter": [{"match_all": {}}]}})
    assert (total, len(order)) == (3, 2)


def test_ids_find_their_documents_alone(still):
    found = searched(still, {"query": {"ids": {"values": ["pm/3", "pm/1", "pm/9"]}}})
    assert sorted(ids(found)) == ["pm/1", "pm/3"]
    assert found["hits"]["total"]["value"] == 2
    assert searched(still, {"query": {"ids": {"values": ["pm/9"]}}})["hits"]["hits"] == []
    wanted = [{"ids": {"values": ["pm/3", "pm/1"]}}, {"term": {"year": 2020}}]
    assert ids(searched(still, {"query": {"bool": {"filter": wanted}}})) == ["pm/3"]


def test_a_vector_of_the_model_of_the_index(still):
    medley = still.application.extensions["medley"].medley
    mapping = still.get("/opensearch/abstracts/_mapping").json["abstracts"]["mappings"]
    fingerprint = mapping["_meta"]["encoders"]["dense"]
    assert fingerprint == medley.engine.resolve("abstracts").encoders["dense"]
    (vector,) = medley.services.encoder(fingerprint).encode_queries(["metformin weight"]).tolist()

    def near(values: Any, encoder: str = fingerprint, **further: Any) -> Any:
        query = {"knn": {"dense": {"vector": values, "k": 5}}}
        return post(still, {"query": query, "ext": {"medley": {"encoders": {"dense": encoder}}}} | further)

    alone = near(vector).json
    assert ids(alone)[0] == "pm/3"
    assert alone["hits"]["hits"][0]["fields"]["lexical"] == [False]
    assert [(hit["_id"], hit["_score"]) for hit in near([7 * value for value in vector]).json["hits"]["hits"]] == [
        (hit["_id"], pytest.approx(hit["_score"])) for hit in alone["hits"]["hits"]
    ]
    (other,) = medley.services.encoder(fingerprint).encode_queries(["statins mortality"]).tolist()
    assert ids(near(other).json)[0] != "pm/3"  # the answer to another vector is not remembered for this one
    hybrid = {"hybrid": {"queries": [MATCH, {"knn": {"dense": {"vector": vector, "k": 5}}}]}}
    both = near(vector, query=hybrid).json
    assert set(ids(both)[:2]) == {"pm/2", "pm/3"}
    for values, encoder, reason in (
        (vector, "f00", "are of the model"),
        (vector[:-1], fingerprint, "the index expects (256,)"),
        ([0.0] * 256, fingerprint, "not all of them 0"),
        ([1e308] * 256, fingerprint, "must have finite values"),
    ):
        refused = near(values, encoder)
        assert refused.status_code == 400
        assert reason in refused.json["error"]["reason"], refused.json


def test_vectors_are_part_of_the_query_that_a_cursor_belongs_to():
    query = Query("abstracts", Access("ada", frozenset({"public"})), "aspirin")
    given = (replace(query, vectors=(QueryVector("dense", "f", (value,)),)) for value in (1.0, 2.0))
    assert len({query_mark(item) for item in (query, replace(query, everything=True), *given)}) == 4


def test_counting(still):
    def count(body: Any = None) -> Any:
        return (
            still.post("/opensearch/abstracts/_count", json=body) if body else still.get("/opensearch/abstracts/_count")
        )

    assert count().json == {"count": 5, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}
    assert count({"query": STATINS}).json["count"] == 3
    assert count({"query": {"exists": {"field": "year"}}}).json["count"] == 5
    assert count({"size": 1}).status_code == 400


def test_a_document(still):
    answer = still.get("/opensearch/abstracts/_doc/pm/1")
    assert answer.json == {
        "_index": "abstracts",
        "_id": "pm/1",
        "_version": 1,
        "found": True,
        "fields": {"invented": [False]},
        "_source": {
            "title": "Statins after myocardial infarction",
            "text": "Statins lowered mortality after myocardial infarction.",
            "sections": [{"heading": "Results", "text": "Statins lowered mortality after myocardial infarction."}],
            "journal": "Heart",
            "published": "2015-06-01",
            "source": "trials",
            "year": 2015,
        },
    }
    assert still.get("/opensearch/abstracts/_doc/pm/1?_source=year").json["_source"] == {"year": 2015}
    missing = still.get("/opensearch/abstracts/_doc/pm/99")
    assert (missing.status_code, missing.json) == (404, {"_index": "abstracts", "_id": "pm/99", "found": False})


def test_fields_as_a_mapping(still):
    whole = still.get("/opensearch/_mapping").json
    assert list(whole) == ["abstracts", "notes"]
    properties = whole["abstracts"]["mappings"]["properties"]
    assert {name: properties[name] for name in ("title", "text", "year", "journal", "published")} == {
        "title": {"type": "text"},
        "text": {"type": "text"},
        "year": {"type": "double"},
        "journal": {"type": "keyword"},
        "published": {"type": "date", "format": "yyyy-MM-dd||strict_date_optional_time||epoch_millis"},
    }
    index = still.get("/opensearch/abstracts").json["abstracts"]
    assert index["mappings"] == whole["abstracts"]["mappings"]


FIELDS = {row[0]: {"journal": row[4], "year": row[3], "published": date(row[3], 6, 1)} for row in ABSTRACTS}
JOURNALS = ("Heart", "Brain", "Diabetes Today", "Nature")
YEARS = st.integers(2013, 2022)
LEAVES = (
    st.sampled_from(JOURNALS).map(lambda name: {"term": {"journal": name}})
    | st.lists(st.sampled_from(JOURNALS), min_size=1, max_size=3).map(lambda names: {"terms": {"journal": names}})
    | st.tuples(st.sampled_from(["gte", "gt", "lte", "lt"]), YEARS).map(lambda item: {"range": {"year": dict([item])}})
    | st.tuples(st.sampled_from(["gte", "gt", "lte", "lt"]), YEARS, st.sampled_from([-1, 0, 1])).map(
        lambda item: {"range": {"published": {item[0]: f"{date(item[1], 6, 1) + timedelta(item[2])}"}}}
    )
    | YEARS.map(lambda year: {"term": {"year": year}})
    | st.just({"match_all": {}})
)


def bools(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=2)
    return st.fixed_dictionaries({}, optional={"must": lists, "filter": lists, "should": lists, "must_not": lists}).map(
        lambda clauses: {"bool": clauses}
    )


def holds(query: Any, of: Any) -> bool:
    """Whether a document meets a query, as OpenSearch's documentation has it."""
    ((name, value),) = query.items()
    if name == "match_all":
        return True
    if name == "bool":
        every = [*value.get("must", []), *value.get("filter", [])]
        should = value.get("should", [])
        enough = bool(every) or not should or any(holds(item, of) for item in should)
        return (
            enough
            and all(holds(item, of) for item in every)
            and not any(holds(item, of) for item in value.get("must_not", []))
        )
    ((field, given),) = value.items()
    own = of[field]
    if name == "range":
        ((bound, limit),) = given.items()
        limit = date.fromisoformat(limit) if isinstance(limit, str) else limit
        return {"gte": own >= limit, "gt": own > limit, "lte": own <= limit, "lt": own < limit}[bound]
    return own in given if name == "terms" else own == given


@settings(max_examples=200)
@given(st.recursive(LEAVES, bools, max_leaves=8))
def test_filters_mean_what_they_mean_in_opensearch(still, query):
    """A query that is not refused finds exactly the documents that OpenSearch's rules name."""
    answer = post(still, {"query": query, "size": 50})
    if answer.status_code == 400:
        assert (
            "is not supported" in answer.json["error"]["reason"] or "above the upper" in answer.json["error"]["reason"]
        )
        return
    expected = sorted(name for name, of in FIELDS.items() if holds(query, of))
    assert sorted(ids(answer.json)) == expected
    assert answer.json["hits"]["total"] == {"value": len(expected), "relation": "eq"}


def test_answers_are_printed_for_people_on_request(still):
    plain, pretty = (
        still.get("/opensearch/abstracts/_count", query_string=given) for given in ({}, {"pretty": "true"})
    )
    assert plain.text == json.dumps(plain.json)
    assert pretty.text.startswith('{\n  "count": 5')
