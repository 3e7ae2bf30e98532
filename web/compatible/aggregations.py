"""Aggregations: `terms` of a field and `date_histogram` by year, which are counted as facets are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from mappings.collection import Collection
from mappings.errors import InvalidInput
from mappings.fields import FieldType
from search.engines.values import FACET_VALUES
from search.query import YEARLY, FacetCount
from web.compatible.query.days import milliseconds
from web.compatible.query.fields import field_of
from web.compatible.shapes import a_text, a_whole, an_object, check_keys, only_entry, quoted, unsupported

MAX_AGGREGATIONS: Final = 20
_KINDS: Final = ("terms", "date_histogram")
_INNER: Final = ("aggs", "aggregations")
_YEARS: Final = ("year", "1y")
_FORMATS: Final = {"yyyy": "%Y", "yyyy-MM-dd": "%Y-%m-%d"}
_TERMS_NEUTRAL: Final = {"order": ({"_count": "desc"},), "show_term_doc_count_error": (False,)}
_YEARLY_NEUTRAL: Final = {"order": ({"_key": "asc"},), "keyed": (False,), "time_zone": ("UTC", "+00:00", "Z")}


@dataclass(frozen=True, slots=True)
class FacetAggregation:
    """A facet under the name that the client gave it: at most `size` values, each of at least `least` documents.

    `format` is that of dates, as `strftime` reads it.
    """

    name: str
    facet: str
    type: FieldType
    size: int = 10
    least: int = 1
    format: str = "%Y-%m-%d"

    @property
    def is_yearly(self) -> bool:
        """Whether a date is counted by year."""
        return self.facet.endswith(YEARLY)

    @property
    def typed_name(self) -> str:
        """The name as `typed_keys` has it, by which clients know the form of the answer."""
        forms = {"keyword": "sterms", "number": "dterms", "date": "lterms"}
        return f"{'date_histogram' if self.is_yearly else forms[self.type]}#{self.name}"

    def answer(self, counts: Sequence[FacetCount]) -> dict[str, Any]:
        """The aggregation in OpenSearch's form; `counts` are the values of the facet."""
        if self.is_yearly:
            return {"buckets": _by_year({int(item.value): item.count for item in counts}, self)}
        buckets = [{**_key(item.value, self), "doc_count": item.count} for item in counts]
        buckets.sort(key=lambda item: (-item["doc_count"], item["key"]))
        frequent = [item for item in buckets if item["doc_count"] >= self.least]
        return {
            # OpenSearch's sign for what is unknown: a facet has its most frequent values only.
            "doc_count_error_upper_bound": -1 if self.is_cut(counts) else 0,
            "sum_other_doc_count": sum(item["doc_count"] for item in frequent[self.size :]),
            "buckets": frequent[: self.size],
        }

    @staticmethod
    def is_cut(counts: Sequence[FacetCount]) -> bool:
        """Whether there can be further, less frequent values."""
        return len(counts) >= FACET_VALUES


def read_aggregations(value: Any, where: str, collection: Collection) -> tuple[FacetAggregation, ...]:
    """The aggregations of a body. Raises `InvalidInput`."""
    given = an_object(value, where)
    if len(given) > MAX_AGGREGATIONS:
        raise unsupported(f"a search with more than {MAX_AGGREGATIONS} aggregations", where, "send several searches")
    return tuple(_read(name, item, f"{where}.{name}"[:200], collection) for name, item in given.items())


def _read(name: str, value: Any, where: str, collection: Collection) -> FacetAggregation:
    given = an_object(value, where)
    if any(given.get(inner) for inner in _INNER):  # some clients always send an empty one
        raise unsupported("an aggregation within another", where, "send a search with a filter for each value")
    kind, options = only_entry({key: item for key, item in given.items() if key not in _INNER}, where)
    if kind not in _KINDS:
        raise unsupported(f"the aggregation {quoted(kind)}", where, f"supported are {', '.join(_KINDS)}")
    where = f"{where}.{kind}"
    field = field_of(a_text(an_object(options, where).get("field"), f"{where}.field"), collection, where)
    if kind == "terms":
        return _terms(name, options, where, field.name, field.type)
    if field.type != "date":
        raise InvalidInput(f"{field.name} is a {field.type}: count its values by [terms]", field=where)
    return _date_histogram(name, options, where, field.name)


def _terms(name: str, options: Mapping[str, Any], where: str, field: str, kind: FieldType) -> FacetAggregation:
    check_keys(options, ("field", "size", "min_doc_count"), where, _TERMS_NEUTRAL)
    size = a_whole(options.get("size", 10), f"{where}.size", 1, FACET_VALUES)
    return FacetAggregation(
        name, field, kind, size, a_whole(options.get("min_doc_count", 1), f"{where}.min_doc_count", 1)
    )


def _date_histogram(name: str, options: Mapping[str, Any], where: str, field: str) -> FacetAggregation:
    known = ("field", "calendar_interval", "interval", "format", "min_doc_count")
    check_keys(options, known, where, _YEARLY_NEUTRAL)
    interval = options.get("calendar_interval", options.get("interval"))
    if interval not in _YEARS:
        raise unsupported(f"the interval {quoted(interval)}", where, f"dates are counted by {' or '.join(_YEARS)}")
    if (pattern := a_text(options.get("format", "yyyy-MM-dd"), f"{where}.format")) not in _FORMATS:
        raise unsupported(f"the format {quoted(pattern)}", where, f"supported are {', '.join(_FORMATS)}")
    least = a_whole(options.get("min_doc_count", 0), f"{where}.min_doc_count")
    return FacetAggregation(name, f"{field}{YEARLY}", "date", FACET_VALUES, least, _FORMATS[pattern])


def _key(value: str, asked: FacetAggregation) -> dict[str, Any]:
    if asked.type == "number":
        return {"key": float(value)}
    if asked.type == "date":
        day = date.fromisoformat(value)
        return {"key": milliseconds(day), "key_as_string": day.isoformat()}
    return {"key": value}


def _by_year(counts: Mapping[int, int], asked: FacetAggregation) -> list[dict[str, Any]]:
    """The years in order; with `least` 0 those without a document, too, unless years can be missing."""
    years = sorted(counts)
    if not asked.least and 0 < len(years) < FACET_VALUES:
        years = list(range(years[0], years[-1] + 1))
    kept = [(date(year, 1, 1), counts.get(year, 0)) for year in years]
    return [
        {"key_as_string": _written(day, asked), "key": milliseconds(day), "doc_count": count}
        for day, count in kept
        if count >= asked.least
    ]


def _written(day: date, asked: FacetAggregation) -> str:
    return f"{day.year:04}" if asked.format == "%Y" else day.isoformat()
