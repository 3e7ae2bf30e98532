"""Bodies of OpenSearch's `_search` that are refused, by name and with the place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Access
from mappings.errors import InvalidInput
from web.compatible.body import CompatibleSearch, read_body

ABSTRACTS = load("abstracts")
MATCH = {"match": {"text": "aspirin stroke"}}
HEART = {"term": {"journal": "Heart"}}


def read(body: Any) -> CompatibleSearch:
    return read_body(body, ABSTRACTS, Access("ada", frozenset({"public"})), 100)


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
        ({"term": {"year": "soon"}}, "query.term.year", "[soon] is not a number"),
        ({"term": {"journal": "a", "year": 2}}, "query.term", "exactly one entry, not 2"),
        ({"terms": {"journal": []}}, "query.terms.journal", "must not be empty"),
        ({"terms": {"journal": {"index": "x", "id": "1", "path": "p"}}}, "query.terms.journal", "a lookup of terms"),
        ({"terms": {"year": [2015, 2016]}}, "query.terms.year", "several numbers"),
        ({"terms": {"published": ["2015-01-01", "2016-01-01"]}}, "query.terms.published", "several dates"),
        ({"range": {"journal": {"gte": "a"}}}, "query.range.journal", "a [range] of a keyword"),
        ({"range": {"year": {"gte": 1, "gt": 2}}}, "query.range.year", "one lower and one upper"),
        ({"range": {"year": {}}}, "query.range.year", "needs a lower or an upper bound"),
        ({"range": {"year": {"gte": "x"}}}, "query.range.year", "[x] is not a number"),
        ({"term": {"year": "2015..2018"}}, "query.term.year", "[2015..2018] is not a number"),
        ({"exists": {"field": ["year", "date"]}}, "query.exists.field", "must be a text"),
        ({"range": {"year": {"from": 2}}}, "query.range.year", "the option [from]"),
        ({"range": {"published": {"gte": "now-1y/d"}}}, "query.range.published", "date math"),
        ({"range": {"published": {"gte": 2015}}}, "query.range.published", "[2015] is not a date"),
        (
            {"range": {"published": {"gte": "--5", "format": "epoch_millis"}}},
            "query.range.published",
            "[--5] is not a date",
        ),
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
        ({"hybrid": {"queries": [MATCH], "pagination_depth": 0}}, "query.hybrid.pagination_depth", "1"),
        ({"hybrid": {"queries": [MATCH], "depth": 50}}, "query.hybrid", "[depth]"),
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
        read({"query": query})
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
            {"aggs": {"a": {"date_histogram": {"field": "published", "interval": "1y", "format": ["yyyy"]}}}},
            "aggs.a.date_histogram.format",
            "must be a text",
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
