"""Quotes, exclusions and fields in a query, and what is read as words after all."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.fields import Field
from search.query import Range, Terms
from search.understanding.syntax import MAX_FREE_WORDS, Parsed, parse

FIELDS = {
    "journal": Field("journal", "keyword", "Journal"),
    "year": Field("year", "number", "Year"),
    "published": Field("published", "date", "Published"),
}


def read(text: str) -> Parsed:
    return parse(text, FIELDS)


def test_a_quoted_phrase_is_required_and_stays_among_the_words():
    found = read('metformin "heart failure" elderly')
    assert (found.phrases, found.free, found.text) == (
        ("heart failure",),
        "metformin elderly",
        "metformin elderly heart failure",
    )
    assert read("“heart failure”").phrases == read("«heart failure»").phrases == ("heart failure",)


def test_an_excluded_word_or_phrase_is_no_word_of_the_query():
    found = read('diabetes -insulin -"type 1"')
    assert (found.text, found.excluded) == ("diabetes", ("insulin", "type 1"))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("year:2015", Range("year", 2015.0, 2015.0)),
        ("Year:2010..2020", Range("year", 2010.0, 2020.0)),
        ("year:2010..", Range("year", 2010.0, None)),
        ("year:..2020", Range("year", None, 2020.0)),
        ("year:>=2015", Range("year", 2015.0, None)),
        ("year:<=2015", Range("year", None, 2015.0)),
        ("published:2020", Range("published", date(2020, 1, 1), date(2020, 12, 31))),
        ("published:2020-02", Range("published", date(2020, 2, 1), date(2020, 2, 29))),
        ("published:2020-12", Range("published", date(2020, 12, 1), date(2020, 12, 31))),
        ("published:2020-02-03..2020-03", Range("published", date(2020, 2, 3), date(2020, 3, 31))),
        ("published:>2020-02", Range("published", date(2020, 3, 1), None)),
        ("published:<2020", Range("published", None, date(2019, 12, 31))),
        ('journal:"lancet Neurology"', Terms("journal", ("lancet Neurology", "lancet neurology", "LANCET NEUROLOGY", "Lancet neurology", "Lancet Neurology"))),
    ],
)  # fmt: skip
def test_a_field_is_a_filter(typed, expected):
    found = read(f"stroke {typed}")
    assert (found.text, found.filters, found.notes) == ("stroke", (expected,), ())


def test_a_bound_can_leave_itself_out():
    (after,) = read("year:>2015").filters
    (before,) = read("year:<2015").filters
    assert after.low > 2015 > before.high
    assert (after.high, before.low) == (None, None)


def test_a_document_is_named_by_its_id():
    assert read("id:pmc/123").ids == ("pmc/123",)


@pytest.mark.parametrize(
    "typed", ["year:", "year:soon", "year:nan", "year:..", "published:2020-13", "published:99999", "year:>"]
)
def test_a_value_that_is_none_is_searched_as_words(typed):
    found = read(f"stroke {typed}")
    assert found.filters == ()
    assert "stroke" in found.free


def test_an_unknown_field_is_searched_as_words_and_a_note_says_so():
    found = read("stroke colour:red")
    assert found.free == "stroke colour red"
    assert found.notes == (
        "there is no field 'colour' here, so colour:red was searched as words; fields are journal, year, published, id",
    )


@pytest.mark.parametrize(
    "typed",
    [
        "https://example.org/a",
        "ratio 3:1",
        "Study: coffee is fine",
        "at 10:30",
        "-",
        "- -",
        "--",
        '"',
        '""',
        '" "',
        '"the of"',
        "COVID-19",
        "-5 degrees",
        "5 -10 mg",
    ],
)
def test_what_only_looks_like_an_operator_is_read_as_words(typed):
    found = read(typed)
    assert (found.phrases, found.excluded, found.filters, found.ids) == ((), (), (), ())


def test_quotes_without_an_end_are_left_out():
    assert read('"heart failure').free == "heart failure"


def test_a_query_of_exclusions_alone_is_read_as_words():
    found = read("-aspirin")
    assert (found.text, found.excluded) == ("-aspirin", ())
    assert "searched as words" in found.notes[0]


def test_a_wildcard_is_said_to_stand_for_nothing():
    assert "asterisk" in read("metf*").notes[0]


def test_a_pasted_headline_keeps_its_quotes_and_dashes():
    headline = 'Coffee "protects" the heart -and the liver: ' + " ".join(["says"] * MAX_FREE_WORDS)
    assert read(headline) == Parsed(headline, headline)


@given(st.text(alphabet='ab-": .<>*“year2', max_size=40))
def test_nothing_that_can_be_typed_fails_or_loses_its_words(text):
    found = read(text)
    kept = " ".join((found.text, *found.excluded, *found.ids, *map(str, found.filters))).lower()
    assert all(word in kept for word in ("aa", "bb") if f" {word} " in f" {text} ")
