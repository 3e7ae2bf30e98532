"""What callers send: read completely, or refused with the field and what would be right."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

from mappings.collection import load
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.query import Query, Range, Terms
from web import forms, validation

ABSTRACTS = load("abstracts")
NOTES = load("notes")
ADA = Access("ada", frozenset({"public"}))


def refused(call, *args):
    with pytest.raises(InvalidInput) as caught:
        call(*args)
    return caught.value.field, caught.value.message


def query(**asked):
    return forms.to_query(forms.search_form({"collection": "abstracts", **asked}), ABSTRACTS, ADA)


def test_everything_that_can_be_asked():
    asked = forms.search_form(
        {
            "collection": "abstracts",
            "text": "statins",
            "entity": "heart failure",
            "aspect": "treatment",
            "with": ["pneumonia"],
            "without": ["effusion"],
            "filters": {
                "year": {"gte": 2015, "lte": 2020.5},
                "source": ["x", "y", "x"],
                "journal": "Lancet",
                "published": {"gte": "2020-01-31"},
            },
            "facets": ["year"],
            "size": 5,
            "cursor": "abc",
            "sort": "-year",
            "explain": True,
            "rerank": False,
            "deadline_ms": 100,
        }
    )
    assert forms.to_query(asked, ABSTRACTS, ADA) == Query(
        collection="abstracts",
        access=ADA,
        text="statins",
        entity="heart failure",
        aspect="treatment",
        having=("pneumonia",),
        lacking=("effusion",),
        filters=(
            Terms("journal", ("Lancet",)),
            Range("published", date(2020, 1, 31), None),
            Terms("source", ("x", "y")),
            Range("year", 2015.0, 2020.5),
        ),
        facets=("year",),
        size=5,
        cursor="abc",
        sort="-year",
        explain=True,
        rerank=False,
        deadline_ms=100,
    )


def test_the_collection_says_which_facets_are_counted_by_default():
    assert query(text="a").facets == ("year", "source", "journal", "type", "badges", "mesh")
    assert query(text="a", facets=[]).facets == ()


def test_an_address_asks_the_same():
    parameters = MultiDict(
        [
            ("collection", "abstracts"),
            ("text", "statins"),
            ("with", "pneumonia, fever"),
            ("with", "cough"),
            ("filter.year", "2015..2020"),
            ("filter.source", "x"),
            ("filter.source", "y"),
            ("filter.published", "2020-01-01.."),
            ("facets", "year,source"),
            ("size", "5"),
            ("explain", "true"),
            ("rerank", "false"),
        ]
    )
    assert forms.to_query(forms.search_form_of(parameters), ABSTRACTS, ADA) == query(
        text="statins",
        **{"with": ["pneumonia", "fever", "cough"]},
        filters={"year": {"gte": 2015, "lte": 2020}, "source": ["x", "y"], "published": {"gte": "2020-01-01"}},
        facets=["year", "source"],
        size=5,
        explain=True,
        rerank=False,
    )


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("2015..2020", 2015, 2020),
        ("2015..", 2015, None),
        ("..2020", None, 2020),
        ("2015", 2015, 2015),
        (" 1 .. 2 ", 1, 2),
    ],
)
def test_ranges_as_text(written, low, high):
    form = forms.search_form_of(MultiDict({"collection": "abstracts", "text": "a", "filter.year": written}))
    assert forms.to_query(form, ABSTRACTS, ADA).filters == (Range("year", low, high),)


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ([], "body", "should be"),
        ({}, "collection", "collection is missing"),
        ({"collection": 3}, "collection", "valid string"),
        ({"collection": "abstracts", "text": 3}, "text", "valid string"),
        ({"collection": "abstracts", "text": None}, "text", "valid string"),
        ({"collection": "abstracts", "text": "a" * 100_000}, "text", "at most 10000 characters"),
        (
            {"collection": "abstracts", "query": "a"},
            "query",
            "there is no field 'query'; known are collection, text, entity, aspect, with",
        ),
        ({"collection": "abstracts", "text": "a", "size": 0}, "size", "greater than or equal to 1"),
        ({"collection": "abstracts", "text": "a", "size": 101}, "size", "less than or equal to 100"),
        ({"collection": "abstracts", "text": "a", "size": "5"}, "size", "valid integer"),
        ({"collection": "abstracts", "text": "a", "size": True}, "size", "valid integer"),
        ({"collection": "abstracts", "text": "a", "with": "x"}, "with", "valid list"),
        ({"collection": "abstracts", "text": "a", "with": ["x"] * 21}, "with", "at most 20"),
        ({"collection": "abstracts", "text": "a", "filters": []}, "filters", "valid dictionary"),
        (
            {"collection": "abstracts", "text": "a", "filters": {"year": None}},
            "filters.year",
            "a value, a list of values, or a range",
        ),
        (
            {"collection": "abstracts", "text": "a", "filters": {"year": {"gt": 1}}},
            "filters.year",
            "a range with 'gte' and 'lte'",
        ),
        (
            {"collection": "abstracts", "text": "a", "filters": {"year": True}},
            "filters.year",
            "a range with 'gte' and 'lte'",
        ),
        ({"collection": "abstracts", "text": "a", "deadline_ms": -1}, "deadline_ms", "greater than or equal to 0"),
        ({"collection": "abstracts", "text": "a", "explain": "yes"}, "explain", "valid boolean"),
        ({"collection": "abstracts", "text": "a", "cursor": "a" * 20_001}, "cursor", "at most 20000 characters"),
    ],
)
def test_a_wrong_body_is_refused_by_its_field(body, field, message):
    where, why = refused(forms.search_form, body)
    assert where == field
    assert message in why


@pytest.mark.parametrize(
    ("asked", "field", "message"),
    [
        ({}, "text", "the query is empty"),
        ({"text": " \n"}, "text", "the query is empty"),
        (
            {"text": "a", "filters": {"colour": "red"}},
            "filters.colour",
            "there is no field 'colour' in 'abstracts'; its fields are year, source",
        ),
        ({"text": "a", "filters": {"source": {"gte": "a"}}}, "filters.source", "source is a keyword"),
        ({"text": "a", "filters": {"source": []}}, "filters.source", "a list of 1 to 100 texts"),
        ({"text": "a", "filters": {"source": [1]}}, "filters.source", "source is a keyword"),
        ({"text": "a", "filters": {"source": ["a"] * 101}}, "filters.source", "a list of 1 to 100 texts"),
        ({"text": "a", "filters": {"source": "a" * 1001}}, "filters.source", "1 to 1,000 characters"),
        ({"text": "a", "filters": {"year": "soon"}}, "filters.year", "year takes a number, and 'soon' is not one"),
        ({"text": "a", "filters": {"year": "nan"}}, "filters.year", "takes a number"),
        ({"text": "a", "filters": {"year": 10**400}}, "filters.year", "takes a number"),
        ({"text": "a", "filters": {"year": {}}}, "filters.year", "a lower or an upper bound"),
        (
            {"text": "a", "filters": {"year": {"gte": 2, "lte": 1}}},
            "filters.year",
            "the lower bound 2 is above the upper bound 1",
        ),
        ({"text": "a", "filters": {"year": [1, 2]}}, "filters.year", "one value or one range, not 2"),
        (
            {"text": "a", "filters": {"published": {"gte": "2020-02-30"}}},
            "filters.published",
            "a date as YYYY-MM-DD, and '2020-02-30' is not one",
        ),
        ({"text": "a", "filters": {"published": 2020}}, "filters.published", "a date as YYYY-MM-DD"),
        ({"text": "a", "filters": {"published": "2020-W01-1"}}, "filters.published", "a date as YYYY-MM-DD"),
    ],
)
def test_what_the_collection_does_not_have_is_refused(asked, field, message):
    with pytest.raises(InvalidInput) as caught:
        query(**asked)
    assert caught.value.field == field
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("parameters", "field", "message"),
    [
        ([("q", "a")], "q", "there is no parameter 'q'; known are collection, text"),
        ([("text", "a"), ("text", "b")], "text", "given 2 times"),
        ([("collection", "abstracts"), ("size", "many")], "size", "valid integer"),
        ([("collection", "abstracts"), ("explain", "perhaps")], "explain", "valid boolean"),
    ],
)
def test_a_wrong_address_is_refused(parameters, field, message):
    where, why = refused(forms.search_form_of, MultiDict(parameters))
    assert where == field
    assert message in why


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b"9" * 5000, b'{"a": Infinity}'],
    ids=lambda body: repr(body[:12]),
)
def test_invalid_json_is_refused(body):
    where, why = refused(validation.parse_json, body)
    assert where == "body"
    assert why.startswith("the body is not valid JSON")


def test_texts_are_cleaned_of_what_no_engine_holds():
    assert validation.parse_json(b'{"te\\u0000xt": ["a\\ud800b\\u0007c", {"d": "e\\nf"}]}') == {
        "te xt": ["a b c", {"d": "e\nf"}]
    }


def test_a_batch_is_bounded_and_names_the_search_at_fault():
    one = {"collection": "abstracts", "text": "a"}
    assert len(forms.batch_form({"searches": [one] * 50}).searches) == 50
    assert refused(forms.batch_form, {"searches": [one] * 51})[0] == "searches"
    assert refused(forms.batch_form, {"searches": []})[0] == "searches"
    assert refused(forms.batch_form, {"searches": [one, one | {"size": 0}]})[0] == "searches.1.size"
    assert refused(forms.batch_form, {"searches": [one | {"colour": 0}]}) == (
        "searches.0.colour",
        f"there is no field 'colour'; known are {', '.join(validation._fields(forms.SearchForm))}",
    )


def test_an_unknown_format_names_the_known():
    assert refused(forms.check_format, "xml") == (
        "format",
        "there is no format 'xml'; known are json, ris, bibtex, csv",
    )


def asked_or_refused(call):
    try:
        return isinstance(call(), Query)
    except InvalidInput as error:
        return bool(error.field)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*forms.PARAMETERS, "filters", "year", "gte"]), inner, max_size=5)
        ),
        max_leaves=12,
    )
)
@settings(max_examples=60)
def test_any_value_is_a_query_or_is_refused(value):
    body = {"collection": "notes", **value} if isinstance(value, dict) else value
    assert asked_or_refused(lambda: forms.to_query(forms.search_form(body), NOTES, ADA))


@given(
    st.lists(
        st.tuples(st.sampled_from([*forms.PARAMETERS, "filter.year", "filter.source", "x"]), st.text(max_size=12)),
        max_size=6,
    )
)
@settings(max_examples=50)
def test_any_address_is_a_query_or_is_refused(pairs):
    assert asked_or_refused(lambda: forms.to_query(forms.search_form_of(MultiDict(pairs)), ABSTRACTS, ADA))
