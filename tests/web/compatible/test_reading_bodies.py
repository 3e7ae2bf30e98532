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


@pytest.mark.parametrize(
    ("query", "place", "reason"),
    [
        ({"fuzzy": {"text": "asprin"}}, "query.fuzzy", "the query [fuzzy] is not supported"),
        ({"match_phrase": {"text": "heart attack"}}, "query.match_phrase", "the query [match_phrase]"),
        ({"script_score": {}}, "query.script_score", "the query [script_score]"),
        ({"query_string": {"query": "aspirin AND stroke"}}, "query.query_string", "[query_string]"),
        ({"match": {"text": {"query": "a", "fuzziness": "AUTO"}}}, "query.match.text", "the option [fuzziness]"),
        ({"match": {"text": {"query": "a", "operator": "and"}}}, "query.match.text", "[operator] with the value [and]"),
        ({"match": {"text": {"query": "a", "boost": 2}}}, "query.match.text", "[boost] with the value [2]"),
        ({"match": {"title": "aspirin"}}, "query.match.title", "a text in [title] alone"),
        ({"match": {"text": ""}}, "query.match.text", "not empty"),
        ({"match": {"text": ["a"]}}, "query.match.text", "a list"),
        ({"match": {"text": None}}, "query.match.text", "null"),
        ({"match": {"ward": "7"}}, "query.match.ward", "a text in [ward] alone"),
        ({"match": {}}, "query.match", "exactly one entry, not 0"),
        ({"match": "aspirin"}, "query.match", "this must be an object"),
        ({"multi_match": {"query": "a", "fields": ["title^3", "text"]}}, "query.multi_match", "the boost in [title^3]"),
        ({"multi_match": {"query": "a", "fields": ["title"]}}, "query.multi_match", "a text in [title] alone"),
        ({"multi_match": {"query": "a", "type": "phrase"}}, "query.multi_match", "of the type [phrase]"),
        ({"neural": {"dense": {"query_text": "a", "model_id": "x"}}}, "query.neural.dense", "[model_id]"),
        ({"neural": {"body": {"query_text": "a"}}}, "query.neural.body", "there is no vector field [body]"),
        ({"neural": {"dense": {"query_text": "a", "k": 0}}}, "query.neural.dense.k", "a whole number from 1 to 100"),
        ({"neural": {"dense": {"query_text": "a", "min_score": 0.5}}}, "query.neural.dense", "the option [min_score]"),
        ({"knn": {"dense": {"vector": ["a"]}}}, "query.knn.dense", "[vector] must be a list"),
        ({"knn": {"dense": {"vector": [True]}}}, "query.knn.dense", "[vector] must be a list"),
        ({"knn": {"dense": {"vector": [1.0] * 10_001}}}, "query.knn.dense", "at most 10,000"),
        ({"knn": {"dense": {"vector": [10**400]}}}, "query.knn.dense", "too large"),
        ({"term": {"ward": "7"}}, "query.term.ward", "there is no field [ward]"),
        ({"term": {"journal": True}}, "query.term.journal", "must be a text or a number"),
        ({"term": {"journal": {"value": "x", "case_insensitive": True}}}, "query.term.journal", "[case_insensitive]"),
        ({"term": {"year": "soon"}}, "query.term.year", "takes a number"),
        ({"term": {"journal": "a", "year": 2}}, "query.term", "exactly one entry, not 2"),
        ({"terms": {"journal": []}}, "query.terms.journal", "must not be empty"),
        ({"terms": {"journal": {"index": "x", "id": "1", "path": "p"}}}, "query.terms.journal", "a lookup of terms"),
        ({"terms": {"year": [2015, 2016]}}, "query.terms.year", "give one value or one range"),
        ({"terms": {"published": ["2015-01-01", "2016-01-01"]}}, "query.terms.published", "several dates"),
        ({"range": {"journal": {"gte": "a"}}}, "query.range.journal", "a [range] of a keyword"),
        ({"range": {"year": {"gte": 1, "gt": 2}}}, "query.range.year", "one lower and one upper"),
        ({"range": {"year": {}}}, "query.range.year", "needs a lower or an upper bound"),
        ({"range": {"year": {"gte": "x"}}}, "query.range.year", "[x] is not a number"),
        ({"range": {"year": {"gte": 2, "lte": 1}}}, "query.range.year", "above the upper bound"),
        ({"range": {"year": {"from": 2}}}, "query.range.year", "the option [from]"),
        ({"range": {"published": {"gte": "now-1y/d"}}}, "query.range.published", "date math"),
        ({"range": {"published": {"gte": 2015}}}, "query.range.published", "[2015] is not a date"),
        ({"range": {"published": {"gte": "2015"}}}, "query.range.published", "[2015] is not a date"),
        ({"range": {"published": {"gte": "2015-02-30"}}}, "query.range.published", "is not a date"),
        ({"range": {"published": {"gt": "9999-12-31"}}}, "query.range.published", "out of range"),
        ({"range": {"published": {"gte": 999999999999999}}}, "query.range.published", "is not a date"),
        (
            {"range": {"published": {"gte": "2015-01-01", "time_zone": "+01:00"}}},
            "query.range.published",
            "[time_zone]",
        ),
        ({"range": {"published": {"gte": "1.1.2015", "format": "d.M.yyyy"}}}, "query.range.published", "date format"),
        ({"exists": {"field": "journal"}}, "query.exists", "[exists] of a keyword"),
        ({"ids": {"values": []}}, "query.ids.values", "must not be empty"),
        ({"ids": {"values": ['a"b']}}, "query.ids", "quotation marks"),
        ({"ids": {"values": [str(number) for number in range(13)]}}, "query.ids", "more than 12 ids"),
        ({"bool": {"must": [MATCH, {"match": {"text": "statins"}}]}}, "query.bool", "several different texts"),
        ({"bool": {"should": [MATCH, {"match": {"text": "b"}}]}}, "query.bool.should", "several texts"),
        ({"bool": {"should": [MATCH, HEART]}}, "query.bool.should", "different kinds or fields"),
        ({"bool": {"should": [HEART, {"term": {"source": "x"}}]}}, "query.bool.should", "different kinds or fields"),
        ({"bool": {"should": [HEART], "filter": [HEART]}}, "query.bool.should", "only adds to the score"),
        (
            {"bool": {"should": [MATCH, MATCH], "minimum_should_match": 2}},
            "query.bool",
            "[minimum_should_match] of [2]",
        ),
        ({"bool": {"must": [MATCH], "minimum_should_match": 1}}, "query.bool", "[minimum_should_match] of [1]"),
        ({"bool": {"should": [MATCH], "minimum_should_match": "75%"}}, "query.bool", "[minimum_should_match]"),
        ({"bool": {"must_not": [MATCH]}}, "query.bool.must_not", "anything but values of one keyword"),
        ({"bool": {"must_not": [{"term": {"year": 2015}}]}}, "query.bool.must_not", "anything but values"),
        ({"bool": {"must_not": [{"match_all": {}}]}}, "query.bool.must_not", "anything but values"),
        ({"bool": {"filter": [MATCH]}}, "query.bool.filter.0", "a text or a vector in [filter]"),
        ({"bool": {"must": [MATCH], "boost": 3}}, "query.bool", "[boost] with the value [3]"),
        ({"bool": {"must": [MATCH], "_name": "x"}}, "query.bool", "the option [_name]"),
        ({"bool": {"must": ["x"]}}, "query.bool.must.0", "this must be an object"),
        ({"bool": {"must": [MATCH, {"ids": {"values": ["a"]}}]}}, "query.bool", "a text or a vector, and ids"),
        ({"bool": {"must": [{"knn": {"dense": {"vector": [1]}}}, MATCH]}}, "query.bool", "beside a text"),
        ({"hybrid": {"queries": []}}, "query.hybrid.queries", "must not be empty"),
        ({"hybrid": {"queries": [HEART]}}, "query.hybrid", "need a text or a vector"),
        ({"hybrid": {"queries": [MATCH], "pagination_depth": 50}}, "query.hybrid", "[pagination_depth]"),
        (
            {"hybrid": {"queries": [MATCH, {"bool": {"must": [MATCH], "filter": [HEART]}}]}},
            "query.hybrid.queries",
            "different filters",
        ),
        ({"bool": {"should": [{"ids": {"values": [f"{i}"]}} for i in range(13)]}}, "query.bool.should", "more than 12"),
        ({"ids": {"values": ["a" * 513]}}, "query.ids", "no id is longer than 512 bytes"),
        ({"bool": {"should": [{"term": {"journal": f"{i}"}} for i in range(101)]}}, "query.bool.should", "100 values"),
        ({"bool": {"filter": [{"range": {"year": {"gte": i}}} for i in range(1_100)]}}, "query", "1,024 clauses"),
        ({"match": {"text": "a" * 10_001}}, "query.match.text", "at most 10,000"),
        ({}, "query", "exactly one entry, not 0"),
        ({"match": {"text": "a"}, "term": {"year": 1}}, "query", "exactly one entry, not 2"),
        ([], "query", "this must be an object"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(query, place, reason):
    with pytest.raises(InvalidInput) as refused:
        asked(query)
    assert refused.value.field.startswith(place), refused.value.field
    assert reason in refused.value.message


@pytest.mark.parametrize(
    ("body", "place", "reason"),
    [
        ({"foo": 1}, "body", "the option [foo] is not supported: supported are _source, aggregations"),
        ({"suggest": {"text": "a"}}, "body", "[suggest] with the value"),
        ({"post_filter": HEART}, "body", "the option [post_filter]"),
        ({"collapse": {"field": "journal"}}, "body", "the option [collapse]"),
        ({"search_after": [1]}, "body", "the option [search_after]"),
        ({"min_score": 0.5}, "body", "the option [min_score]"),
        ({"rescore": {}}, "body", "the option [rescore]"),
        ({"profile": True}, "body", "[profile] with the value [True]"),
        ({"from": 95, "size": 6}, "from", "less than or equal to: [100] but was [101]"),
        ({"size": 101}, "size", "result window is too large"),
        ({"size": -1}, "size", "a whole number"),
        ({"size": "10"}, "size", "a whole number"),
        ({"size": True}, "size", "a whole number"),
        ({"from": 1.5}, "from", "a whole number"),
        ({"sort": "journal"}, "sort", "a sort by [journal]"),
        ({"sort": ["year", "published"]}, "sort", "a sort by several fields"),
        ({"sort": {"_score": "asc"}}, "sort._score", "the order [asc]"),
        ({"sort": {"year": {"order": "up"}}}, "sort.year", "the order [up]"),
        ({"sort": {"year": {"missing": "_first"}}}, "sort.year", "[missing] with the value [_first]"),
        ({"sort": {"_script": {"type": "number"}}}, "sort._script", "the option [type]"),
        ({"timeout": "soon"}, "timeout", "write 1ms to 60s"),
        ({"timeout": "5m"}, "timeout", "write 1ms to 60s"),
        ({"timeout": 5}, "timeout", "a text"),
        ({"track_total_hits": "yes"}, "track_total_hits", "a whole number"),
        ({"explain": 1}, "explain", "true or false"),
        ({"_source": {"only": ["title"]}}, "_source", "the option [only]"),
        ({"_source": 5}, "_source", "an object"),
        ({"_source": ["a"] * 101}, "_source", "at most 100 patterns"),
        ({"_source": "a" * 201}, "_source", "of at most 200 characters"),
        ({"highlight": {"fields": {"[t]ext": {}}}}, "highlight.fields.[t]ext", "a highlight of [[t]ext]"),
        ({"_source": [5]}, "_source", "a text"),
        ({"aggs": {"a": {"terms": {"field": "ward"}}}}, "aggs.a.terms", "no field [ward]"),
        ({"aggs": {"a": {"terms": {}}}}, "aggs.a.terms.field", "null"),
        ({"aggs": {"a": {"avg": {"field": "year"}}}}, "aggs.a", "the aggregation [avg]"),
        ({"aggs": {"a": {"terms": {"field": "journal", "size": 101}}}}, "aggs.a.terms.size", "from 1 to 100"),
        ({"aggs": {"a": {"terms": {"field": "journal", "order": {"_key": "asc"}}}}}, "aggs.a.terms", "[order]"),
        ({"aggs": {"a": {"terms": {"field": "journal"}, "aggs": {"b": {}}}}}, "aggs.a", "within another"),
        ({"aggs": {"a": {"terms": {"field": "journal", "missing": "x"}}}}, "aggs.a.terms", "the option [missing]"),
        (
            {"aggs": {"a": {"date_histogram": {"field": "published", "calendar_interval": "month"}}}},
            "aggs.a.date_histogram",
            "the interval [month]",
        ),
        (
            {"aggs": {"a": {"date_histogram": {"field": "published", "fixed_interval": "30d"}}}},
            "aggs.a.date_histogram",
            "the option [fixed_interval]",
        ),
        (
            {"aggs": {"a": {"date_histogram": {"field": "year", "calendar_interval": "year"}}}},
            "aggs.a.date_histogram",
            "year is a number",
        ),
        (
            {"aggs": {"a": {"date_histogram": {"field": "published", "interval": "1y", "format": "MM/yy"}}}},
            "aggs.a.date_histogram",
            "the format [MM/yy]",
        ),
        ({"aggs": {}, "aggregations": {}}, "aggs", "not both"),
        ({"aggs": {str(number): {} for number in range(21)}}, "aggs", "more than 20"),
        ({"highlight": {"fields": {"journal": {}}}}, "highlight.fields.journal", "a highlight of [journal]"),
        ({"highlight": {"fields": {"text": {"fragment_size": 10}}}}, "highlight.fields.text", "[fragment_size]"),
        ({"highlight": {"fields": {"text": {}}, "encoder": "x"}}, "highlight", "the encoder [x]"),
        (
            {"highlight": {"fields": {"text": {}}, "pre_tags": ["<a>", "<b>"]}},
            "highlight.fields.text",
            "more than one tag",
        ),
        ({"ext": {"other": {}}}, "ext", "the option [other]"),
        ({"ext": {"medley": {"encoders": {"dense": "f"}}}}, "ext.medley.encoders", "no vector is given"),
        (
            {"query": MATCH, "ext": {"rerank": {"query_context": {"query_text": "statins"}}}},
            "ext.rerank",
            "another text",
        ),
        (
            {"query": {"bool": {"filter": [{"range": {"year": {"gte": 1900 + i}}} for i in range(21)]}}},
            "query",
            "more than 20 filters",
        ),
    ],
)
def test_options_of_a_body_are_refused_by_name(body, place, reason):
    with pytest.raises(InvalidInput) as refused:
        read(body)
    assert refused.value.field.startswith(place), refused.value.field
    assert reason in refused.value.message


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


NAMES = (
    "_source aggs bool dense ext field fields filter from gte highlight hybrid ids journal knn match must must_not published "
    "queries query range should size sort term terms text timeout values vector year"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["a", "*", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=3),
    max_leaves=12,
)


def refusal(body: Any) -> InvalidInput | None:
    """Why a body is refused; None if it is read. Any other error fails the test."""
    try:
        read(body)
    except InvalidInput as error:
        return error
    return None


@given(JSON)
def test_whatever_is_sent_is_read_or_refused(body):
    for each in (body, {"query": body}, {"aggs": {"a": body}}, {"highlight": body}, {"sort": body}, {"_source": body}):
        refused = refusal(each)
        assert refused is None or (refused.message and refused.field)
