"""Filters as callers write them, read by the type of the collection's field."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from mappings.collection import Collection
from mappings.errors import InvalidInput
from mappings.fields import Field
from search.query import Filter, NoneOf, Range, Terms

MAX_VALUES = 100
MAX_VALUE_CHARACTERS = 1_000
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse(written: Mapping[str, Any], collection: Collection) -> tuple[Filter, ...]:
    """The filters of a form, sorted by the names of their fields. Raises `InvalidInput`."""
    return tuple(_filter(collection, name, written[name]) for name in sorted(written))


def _filter(collection: Collection, name: str, value: Any) -> Filter:
    where = f"filters.{name}"[:200]
    if name not in collection.fields:
        known = ", ".join(collection.fields) or "none"
        raise InvalidInput(
            f"there is no field {name[:80]!r} in {collection.name!r}; its fields are {known}", field=where
        )
    field = collection.fields[name]
    return _terms(field, value, where) if field.type == "keyword" else _range(field, value, where)


def _terms(field: Field, value: Any, where: str) -> Terms:
    values = value if isinstance(value, list) else [value]
    if not values or len(values) > MAX_VALUES or not all(isinstance(item, str) for item in values):
        raise InvalidInput(f"{field.name} is a keyword: give a text, or a list of 1 to {MAX_VALUES} texts", field=where)
    if any(not item or len(item) > MAX_VALUE_CHARACTERS for item in values):
        raise InvalidInput(f"{field.name} takes values of 1 to {MAX_VALUE_CHARACTERS:,} characters", field=where)
    return Terms(field.name, tuple(dict.fromkeys(values)))


def _range(field: Field, value: Any, where: str) -> Range:
    low, high = _bounds(field, value, where)
    bound = _number if field.type == "number" else _date
    lower = None if low is None else bound(low, field, where)
    upper = None if high is None else bound(high, field, where)
    if lower is None and upper is None:
        raise InvalidInput(f"{field.name} needs a lower or an upper bound: 'gte', 'lte' or both", field=where)
    # Both bounds have the field's type, so they compare.
    if lower is not None and upper is not None and lower > upper:  # type: ignore[operator]
        raise InvalidInput(f"{field.name}: the lower bound {low} is above the upper bound {high}", field=where)
    return Range(field.name, lower, upper)


def _bounds(field: Field, value: Any, where: str) -> tuple[Any, Any]:
    """(lower, upper) of a range, of one value, or of a text such as `2015..2020`, `2015..` and `..2020`."""
    if hasattr(value, "gte"):
        return value.gte, value.lte
    if isinstance(value, dict):
        return value.get("gte"), value.get("lte")
    if isinstance(value, list):
        if len(value) != 1:
            raise InvalidInput(
                f"{field.name} is a {field.type}: give one value or one range, not {len(value)}", field=where
            )
        value = value[0]
    if isinstance(value, str) and ".." in value:
        low, _, high = value.partition("..")
        return low.strip() or None, high.strip() or None
    return value, value


def _number(value: Any, field: Field, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{field.name} takes a number, and {str(value)[:40]!r} is not one", field=where)
    return number


def _date(value: Any, field: Field, where: str) -> date:
    try:
        return date.fromisoformat(value if _DAY.fullmatch(str(value)) else "")
    except ValueError:
        raise InvalidInput(
            f"{field.name} takes a date as YYYY-MM-DD, and {str(value)[:40]!r} is not one", field=where
        ) from None


def as_json(chosen: Sequence[Filter]) -> dict[str, Any] | list[dict[str, Any]]:
    """Filters as JSON, in the form that `parse` reads; as a list if it has no form for them.

    That is so for values that documents must not have, and for several filters of one field.
    """
    if any(isinstance(item, NoneOf) for item in chosen) or len({item.name for item in chosen}) < len(chosen):
        return [_filter_as_json(item) for item in chosen]
    return {item.name: _range_as_json(item) if isinstance(item, Range) else list(item.values) for item in chosen}


def _filter_as_json(item: Filter) -> dict[str, Any]:
    if isinstance(item, Range):
        return {"field": item.name, **_range_as_json(item)}
    return {"field": item.name, "any" if isinstance(item, Terms) else "none": list(item.values)}


def _range_as_json(item: Range) -> dict[str, float | str]:
    bounds = {"gte": item.low, "lte": item.high}
    return {
        name: bound.isoformat() if isinstance(bound, date) else bound
        for name, bound in bounds.items()
        if bound is not None
    }
