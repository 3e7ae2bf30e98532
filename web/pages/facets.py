"""The facets beside the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mappings.collection import Collection
from mappings.fields import Field
from search.query import YEARLY, FacetCount
from web.pages.addresses import SearchAddress

FACET_VALUES: Final = 8
YEARS: Final = 30


@dataclass(frozen=True, slots=True)
class FacetChoice:
    """A value of a facet; its link leads to `address`. A year has a bar, whose length is `share` percent of the longest."""

    label: str
    count: int
    chosen: bool
    address: SearchAddress
    share: int = 0


@dataclass(frozen=True, slots=True)
class FacetView:
    """A facet for display; `low` and `high` are the current bounds of a number or date."""

    field: Field
    choices: list[FacetChoice]
    low: str
    high: str

    @property
    def ranged(self) -> bool:
        """Whether the facet takes bounds."""
        return self.field.type != "keyword"


def facet_view(item: Field, counts: Sequence[FacetCount], address: SearchAddress) -> FacetView:
    """Build a facet from its most frequent values: chosen ones first, numbers in descending order."""
    chosen = address.values(f"filter.{item.name}")
    found = {count.value: count.count for count in counts}
    keywords = chosen if item.type == "keyword" else []
    values = [*keywords, *(value for value in found if value not in keywords)]
    if item.type == "number":
        values.sort(key=float, reverse=True)
    choices = [
        FacetChoice(value, found.get(value, 0), value in chosen, _address_with(item, value, address))
        for value in values
    ]
    low, high = _bounds(chosen[0]) if chosen and item.type != "keyword" else ("", "")
    return FacetView(item, choices[: max(FACET_VALUES, len(chosen))], low, high)


def years_of(collection: Collection) -> tuple[str, ...]:
    """The facets of the dates of a collection by year; none where the year has a facet of its own."""
    dates = [item.name for item in collection.fields.values() if item.type == "date"]
    return () if "year" in collection.facets else tuple(f"{name}{YEARLY}" for name in dates)


def years_view(item: Field, counts: Sequence[FacetCount], address: SearchAddress) -> FacetView:
    """The facet of a date: its latest years, each with a bar; a year that was chosen can be given up."""
    name = f"filter.{item.name}"
    chosen = address.get(name)
    most = max((count.count for count in counts), default=1)
    choices = []
    for year in sorted(counts, key=lambda count: count.value, reverse=True)[:YEARS]:
        whole = f"{year.value}-01-01..{year.value}-12-31"
        other = address.drop(name) if chosen == whole else address.with_value(name, whole)
        share = max(1, round(100 * year.count / most))
        choices.append(FacetChoice(year.value, year.count, chosen == whole, other, share))
    return FacetView(item, choices, *(_bounds(chosen) if chosen else ("", "")))


def _bounds(value: str) -> tuple[str, str]:
    """(lower, upper) of a range such as `2015..2020`; of a single value, twice that value."""
    low, found, high = value.partition("..")
    return (low, high) if found else (low, low)


def _address_with(item: Field, value: str, address: SearchAddress) -> SearchAddress:
    """The search after choosing a value: keywords add up, a number replaces the previous one."""
    name = f"filter.{item.name}"
    if item.type == "keyword" or value in address.values(name):
        return address.toggle(name, value)
    return address.with_value(name, value)
