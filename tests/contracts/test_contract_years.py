"""The facet of a date by year: every document once, whatever the number of days, and only those that may be seen."""

from __future__ import annotations

from datetime import date, timedelta

from backends import Backend, Draft

from mappings.documents import Access

FACETS = ("published:year", "published")


def test_years_count_all_days_also_those_beyond_the_most_frequent(backend: Backend):
    first = date(1998, 1, 1)
    days = [first + timedelta(number * 7) for number in range(130)]
    drafts = [Draft(f"d{number}", ["heart"], fields={"published": day}) for number, day in enumerate(days)]
    meta = backend.index([*(draft.entry() for draft in drafts), Draft("undated", ["heart"]).entry()])
    facets = backend.ask(meta.index, "heart", facets=FACETS).facets
    expected = {"1998": 53, "1999": 52, "2000": 25}
    assert {item.value: item.count for item in facets["published:year"]} == expected
    assert sum(item.count for item in facets["published"]) == 100


def test_years_of_long_ago_and_far_ahead(backend: Backend):
    days = {"old": date(1543, 6, 1), "new": date(9999, 12, 31), "end": date(2020, 12, 31), "start": date(2021, 1, 1)}
    meta = backend.index([Draft(name, ["heart"], fields={"published": day}).entry() for name, day in days.items()])
    found = backend.ask(meta.index, "heart", facets=FACETS).facets["published:year"]
    assert [(item.value, item.count) for item in found] == [("1543", 1), ("2020", 1), ("2021", 1), ("9999", 1)]


def test_a_hidden_document_is_in_no_year(backend: Backend):
    hidden = Draft("b", ["heart"], labels=frozenset({"secret"}), fields={"published": date(2001, 1, 1)})
    seen = Draft("a", ["heart"], labels=frozenset({"public"}), fields={"published": date(2000, 1, 1)})
    meta = backend.index([seen.entry(), hidden.entry()])
    found = backend.ask(meta.index, "heart", access=Access("ada", frozenset({"public"})), facets=FACETS)
    assert [item.value for item in found.facets["published:year"]] == ["2000"]
