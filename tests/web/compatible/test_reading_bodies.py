"""What bodies of OpenSearch's `_search` become: one query of ours, by comparing it whole, or a refusal by name."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.collection import Collection, load
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.query import NoneOf, Query, QueryVector, Range, Terms
from search.understanding.syntax import parse
from web.compatible.body import CompatibleSearch, read_body, read_count

ABSTRACTS = load("abstracts")
ACCESS = Access("ada", frozenset({"public"}))
EVERYTHING = Query("abstracts", ACCESS, everything=True, rerank=False, stances=False)
TEXT = Query("abstracts", ACCESS, "aspirin stroke")
OPTIONAL = replace(TEXT, everything=True, plain=True)
MATCH = {"match": {"text": "aspirin stroke"}}
HEART = {"term": {"journal": "Heart"}}
HEART_FILTER = Terms("journal", ("Heart",))


def read(body: Any, collection: Collection = ABSTRACTS, window: int = 100) -> CompatibleSearch:
    return read_body(body, collection, ACCESS, window)


def asked(query: Any) -> Query:
    return read({"query": query}).query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"match_all": {}}, EVERYTHING),
        ({"match_all": {"boost": 1.0}}, EVERYTHING),
        ({"query_string": {"query": "*", "analyze_wildcard": True}}, EVERYTHING),
        (MATCH, TEXT),
        ({"match": {"text": {"query": " aspirin stroke ", "operator": "or", "boost": 1}}}, TEXT),
        ({"match": {"text": 2019}}, replace(TEXT, text="2019")),
        ({"match": {"journal": "Heart"}}, replace(EVERYTHING, filters=(HEART_FILTER,))),
        ({"multi_match": {"query": "aspirin stroke"}}, TEXT),
        ({"multi_match": {"query": "aspirin stroke", "fields": ["title", "text"], "type": "cross_fields"}}, TEXT),
        ({"multi_match": {"query": "aspirin stroke", "fields": "*"}}, TEXT),
        ({"neural": {"dense": {"query_text": "aspirin stroke", "k": 50}}}, TEXT),
        (
            {"neural": {"dense": {"query_text": "aspirin stroke", "filter": HEART}}},
            replace(TEXT, filters=(HEART_FILTER,)),
        ),
        ({"hybrid": {"queries": [MATCH, {"neural": {"dense": {"query_text": "aspirin stroke", "k": 9}}}]}}, TEXT),
        ({"hybrid": {"queries": [MATCH], "pagination_depth": 50}}, TEXT),
        ({"neural": {"dense": {"query_text": "aspirin stroke", "method_parameters": {"ef_search": 64}}}}, TEXT),
        ({"hybrid": {"queries": [MATCH], "filter": HEART}}, replace(TEXT, filters=(HEART_FILTER,))),
        (HEART, replace(EVERYTHING, filters=(HEART_FILTER,))),
        ({"term": {"year": {"value": 2020}}}, replace(EVERYTHING, filters=(Range("year", 2020.0, 2020.0),))),
        (
            {"term": {"published": "2020-06-01"}},
            replace(EVERYTHING, filters=(Range("published", date(2020, 6, 1), date(2020, 6, 1)),)),
        ),
        (
            {"terms": {"journal": ["Heart", "Brain"], "boost": 1.0}},
            replace(EVERYTHING, filters=(Terms("journal", ("Heart", "Brain")),)),
        ),
        ({"exists": {"field": "year"}}, replace(EVERYTHING, filters=(Range("year"),))),
        ({"constant_score": {"filter": HEART}}, replace(EVERYTHING, filters=(HEART_FILTER,))),
        ({"ids": {"values": ["pm/1", "a b"]}}, replace(EVERYTHING, everything=False, text='id:"pm/1" id:"a b"')),
        (
            {"bool": {"must": [MATCH], "filter": [HEART, {"range": {"year": {"gte": 2015, "lte": 2020}}}]}},
            replace(TEXT, filters=(HEART_FILTER, Range("year", 2015.0, 2020.0))),
        ),
        ({"bool": {"must": MATCH, "filter": HEART}}, replace(TEXT, filters=(HEART_FILTER,))),
        ({"bool": {"must": [MATCH, MATCH], "should": [MATCH]}}, TEXT),
        ({"bool": {"must_not": [HEART]}}, replace(EVERYTHING, filters=(NoneOf("journal", ("Heart",)),))),
        ({"bool": {"should": [MATCH], "minimum_should_match": 1}}, TEXT),
        ({"bool": {"should": [MATCH]}}, TEXT),
        ({"bool": {"should": [MATCH], "must_not": [HEART]}}, replace(TEXT, filters=(NoneOf("journal", ("Heart",)),))),
        # Beside a filter, `should` only ranks, as in OpenSearch.
        ({"bool": {"should": [MATCH], "filter": [HEART]}}, replace(OPTIONAL, filters=(HEART_FILTER,))),
        ({"bool": {"should": [MATCH], "must": [{"match_all": {}}]}}, OPTIONAL),
        (
            {"bool": {"should": [MATCH], "filter": [HEART], "minimum_should_match": "1"}},
            replace(TEXT, filters=(HEART_FILTER,)),
        ),
        (
            {"bool": {"filter": [{"bool": {"should": [HEART, {"term": {"journal": "Brain"}}]}}]}},
            replace(EVERYTHING, filters=(Terms("journal", ("Heart", "Brain")),)),
        ),
        ({"bool": {"filter": [{"bool": {"filter": [HEART]}}, HEART]}}, replace(EVERYTHING, filters=(HEART_FILTER,))),
        ({"bool": {}}, EVERYTHING),
    ],
)
def test_a_query_becomes_one_of_ours(query, expected):
    assert asked(query) == expected


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ({"gte": "2020-03-01", "lte": "2020-03-31"}, date(2020, 3, 1), date(2020, 3, 31)),
        ({"gt": "2020-03-01", "lt": "2020-03-31"}, date(2020, 3, 2), date(2020, 3, 30)),
        ({"gte": "2020-03-01T00:00:00Z", "lte": "2020-03-31T23:59:59.999Z"}, date(2020, 3, 1), date(2020, 3, 31)),
        ({"gte": "2020-03-01T12:00:00Z", "lt": "2020-03-31T12:00:00Z"}, date(2020, 3, 2), date(2020, 3, 31)),
        ({"gt": "2020-03-01T12:00:00Z"}, date(2020, 3, 2), None),
        ({"lt": "2020-03-01T01:00:00+02:00"}, None, date(2020, 2, 29)),
        ({"gte": 1583020800000, "lt": "1583107200000", "format": "epoch_millis"}, date(2020, 3, 1), date(2020, 3, 1)),
        ({"gte": None, "lte": "2020-03-31"}, None, date(2020, 3, 31)),
    ],
)
def test_bounds_of_dates_are_days(bounds, low, high):
    assert asked({"range": {"published": bounds}}).filters == (Range("published", low, high),)


def test_exclusive_bounds_of_numbers_exclude_the_number_alone():
    (found,) = asked({"range": {"year": {"gt": 2015, "lt": 2020.5}}}).filters
    assert 2015 < found.low < 2015.001
    assert 2020.499 < found.high < 2020.5


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ('the "long covid" of -adults', "the long covid of adults"),
        ("year:2015 aspirin", "year: 2015 aspirin"),
        ("id:pm/1", "id: pm/1"),
        ('"--b"1', "b 1"),
        ("year:-2015", "year: 2015"),
        ("COVID-19 in 2-year-olds", "COVID-19 in 2-year-olds"),
        ("weight: aspirin", "weight: aspirin"),
    ],
)
def test_operators_of_the_search_box_mean_nothing_in_a_match(text, searched):
    assert asked({"match": {"text": text}}).text == searched


@given(st.text(alphabet='ab -":“”12id', min_size=1, max_size=30).filter(lambda text: any(map(str.isalnum, text))))
def test_no_match_is_read_as_an_operator(text):
    found = parse(asked({"match": {"text": text}}).text, ABSTRACTS.fields)
    assert (found.phrases, found.excluded, found.filters, found.ids) == ((), (), (), ())


def test_a_vector_needs_the_model_that_made_it():
    knn = {"knn": {"dense": {"vector": [1, 0.5], "k": 5}}}
    found = read({"query": knn, "ext": {"medley": {"encoders": {"dense": "f00"}}}}).query
    assert found == replace(EVERYTHING, everything=False, vectors=(QueryVector("dense", "f00", (1.0, 0.5)),))
    with pytest.raises(InvalidInput, match="must say which model made it") as refused:
        read({"query": knn})
    assert refused.value.field == "ext.medley.encoders.dense"
    beside = read({"query": {"hybrid": {"queries": [MATCH, knn]}}, "ext": {"medley": {"encoders": {"dense": "f00"}}}})
    assert beside.query == replace(TEXT, vectors=found.vectors)


def nested(depth: int) -> dict[str, Any]:
    query: dict[str, Any] = HEART
    for _ in range(depth):
        query = {"bool": {"filter": [query]}}
    return query


def test_nesting_is_bounded():
    assert asked(nested(19)).filters == (HEART_FILTER,)
    for depth in (20, 900):
        with pytest.raises(InvalidInput, match="nested more than 20 deep"):
            asked(nested(depth))


def test_options_of_a_body():
    found = read(
        {
            "query": MATCH,
            "from": 20,
            "size": 5,
            "sort": [{"year": {"order": "desc", "unmapped_type": "long"}}, "_score"],
            "track_total_hits": 1000,
            "track_scores": True,
            "timeout": "2s",
            "explain": True,
            "version": True,
            "ext": {"rerank": {"query_context": {"query_text": "aspirin stroke"}}},
            "script_fields": {},
            "stored_fields": ["*"],
            "aggs": {"a": {"terms": {"field": "journal"}}, "b": {"terms": {"field": "journal", "size": 3}}},
        }
    )
    assert found.query == replace(TEXT, size=25, sort="-year", deadline_ms=2000, explain=True, facets=("journal",))
    assert (found.start, found.size, found.total, found.has_scores, found.has_versions) == (20, 5, 1000, True, True)


def test_the_smaller_of_page_and_window_is_the_limit():
    assert read({"size": 30}, window=30).query.size == 30
    with pytest.raises(InvalidInput, match=r"\[30\] but was \[31\]"):
        read({"size": 31}, window=30)


def test_a_search_without_hits_reranks_nothing():
    found = read({"query": MATCH, "size": 0}).query
    assert (found.size, found.rerank, found.stances) == (1, False, False)


def test_a_count_takes_a_query_alone():
    assert read_count({"query": HEART}, ABSTRACTS, ACCESS).filters == (HEART_FILTER,)
    with pytest.raises(InvalidInput, match=r"the option \[size\]"):
        read_count({"query": HEART, "size": 5}, ABSTRACTS, ACCESS)


def test_what_dashboards_send_without_a_meaning_changes_nothing() -> None:
    plain = {"size": 0, "aggs": {"a": {"terms": {"field": "journal"}}}, "highlight": {"fields": {"text": {}}}}
    told = {
        "size": 0,
        "aggs": {"a": {"terms": {"field": "journal"}, "aggs": {}}},
        "highlight": {"fields": {"text": {}}, "require_field_match": False},
    }
    assert read(told) == read(plain)
