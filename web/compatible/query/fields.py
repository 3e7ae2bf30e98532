"""The clauses about fields of a collection: `term`, `terms`, `range`, `exists`, and `ids`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import MAX_ID_BYTES
from mappings.errors import InvalidInput
from mappings.fields import Field
from search.query import Range
from search.understanding import filters
from search.understanding.syntax import parse
from web.compatible.query.days import as_milliseconds, check_format, first_day, last_day
from web.compatible.query.wanted import Wanted, few_ids
from web.compatible.shapes import a_list, a_text, an_object, check_keys, only_entry, quoted, some_texts, unsupported

_TERM_NEUTRAL: Final = {"boost": (1, 1.0), "case_insensitive": (False,)}
_BOUNDS: Final = ("gt", "gte", "lt", "lte")


def field_of(name: str, collection: Collection, where: str) -> Field:
    """The field of this name. Raises `InvalidInput` with the known ones."""
    if name not in collection.fields:
        known = ", ".join(collection.fields) or "none"
        raise InvalidInput(
            f"there is no field {quoted(name)} in {collection.name!r}; its fields are {known}", field=where
        )
    return collection.fields[name]


def term(value: Any, where: str, collection: Collection) -> Wanted:
    """Documents whose field has a value: `{"journal": "Heart"}` or `{"journal": {"value": "Heart"}}`."""
    name, given = only_entry(value, where)
    where = f"{where}.{name}"
    if isinstance(given, dict):
        check_keys(given, ("value",), where, _TERM_NEUTRAL)
        given = given.get("value")
    return one_value(name, given, where, collection)


def one_value(name: str, value: Any, where: str, collection: Collection) -> Wanted:
    """Documents whose field `name` has this value; of a date, those of its day. Raises `InvalidInput`."""
    field = field_of(name, collection, where)
    if field.type == "date":
        return Wanted(filters=(Range(name, first_day(value, where), last_day(value, where)),))
    if field.type == "number":
        number = _number(value, where)
        return Wanted(filters=(Range(name, number, number),))
    return _filtered(field, [_scalar(value, where)], where, collection)


def terms(value: Any, where: str, collection: Collection) -> Wanted:
    """Documents whose field has one of several values."""
    given = {name: item for name, item in an_object(value, where).items() if name not in _TERM_NEUTRAL}
    check_keys(an_object(value, where), given, where, _TERM_NEUTRAL)
    name, values = only_entry(given, where)
    where = f"{where}.{name}"
    if isinstance(values, dict):
        raise unsupported("a lookup of terms in another document", where, "give the values")
    if (kind := field_of(name, collection, where).type) != "keyword":
        if len(a_list(values, where)) != 1:
            raise unsupported(f"[terms] with several {kind}s", where, f"give one {kind}, or a [range]")
        return one_value(name, a_list(values, where)[0], where, collection)
    return _filtered(
        collection.fields[name], [_scalar(item, where) for item in a_list(values, where)], where, collection
    )


def in_range(value: Any, where: str, collection: Collection) -> Wanted:
    """Documents whose number or date is between bounds: `gte`, `gt`, `lte`, `lt`."""
    name, given = only_entry(value, where)
    where, field = f"{where}.{name}", field_of(name, collection, f"{where}.{name}")
    if field.type == "keyword":
        raise unsupported("a [range] of a keyword", where, "give values by [terms]")
    options = an_object(given, where)
    check_keys(options, (*_BOUNDS, "format") if field.type == "date" else _BOUNDS, where)
    if "format" in options:
        check_format(options["format"], where)
    bounds = {key: options[key] for key in _BOUNDS if options.get(key) is not None}
    if {"gt", "gte"} <= bounds.keys() or {"lt", "lte"} <= bounds.keys():
        raise InvalidInput("give one lower and one upper bound", field=where)
    if field.type == "date" and options.get("format") == "epoch_millis":
        bounds = {key: as_milliseconds(bound) for key, bound in bounds.items()}
    read: Mapping[str, Any] = (_days if field.type == "date" else _numbers)(bounds, where)
    if not read:
        raise InvalidInput("a range needs a lower or an upper bound, or both", field=where)
    return Wanted(filters=(Range(name, read.get("gte"), read.get("lte")),))  # which can be empty, as between two days


def exists(value: Any, where: str, collection: Collection) -> Wanted:
    """Documents that have a number or a date."""
    check_keys(an_object(value, where), ("field",), where)
    name = a_text(value.get("field"), f"{where}.field")
    if field_of(name, collection, where).type == "keyword":
        raise unsupported("[exists] of a keyword", where, "only numbers and dates are; or give values by [terms]")
    return Wanted(filters=(Range(name),))


def ids(value: Any, where: str, collection: Collection) -> Wanted:
    """The documents of these ids."""
    check_keys(an_object(value, where), ("values",), where)
    names = few_ids(dict.fromkeys(some_texts(value.get("values"), f"{where}.values")), where)
    if any(len(name) > MAX_ID_BYTES for name in names):
        raise InvalidInput(f"no id is longer than {MAX_ID_BYTES} bytes", field=where)
    if parse(text_of_ids(names), collection.fields).ids != names:
        raise unsupported("an id with quotation marks or spaces at its ends", where, "ask for it by [_doc]")
    return Wanted(ids=names)


def text_of_ids(names: tuple[str, ...]) -> str:
    """The text by which a search finds the documents of these ids."""
    return " ".join(f'id:"{name}"' for name in names)


def _filtered(field: Field, value: Any, where: str, collection: Collection) -> Wanted:
    try:
        return Wanted(filters=filters.parse({field.name: value}, collection))
    except InvalidInput as error:
        raise InvalidInput(error.message, field=where) from None


def _scalar(value: Any, where: str) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInput(f"this must be a text or a number, not {quoted(value)}", field=where)
    return value


def _numbers(bounds: Mapping[str, Any], where: str) -> dict[str, float]:
    beyond: Mapping[str, float] = {"gt": math.inf, "lt": -math.inf}
    numbers = {name: _number(value, where) for name, value in bounds.items()}
    return {
        f"{name[:2]}e": math.nextafter(number, beyond[name]) if name in beyond else number
        for name, number in numbers.items()
    }


def _number(value: Any, where: str) -> float:
    try:
        number = float(_scalar(value, where))
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{quoted(value)} is not a number", field=where)
    return number


def _days(bounds: Mapping[str, Any], where: str) -> dict[str, date]:
    readers: Mapping[str, Callable[[Any], date]] = {
        "gt": lambda value: first_day(value, where, after=True),
        "gte": lambda value: first_day(value, where),
        "lt": lambda value: last_day(value, where, before=True),
        "lte": lambda value: last_day(value, where),
    }
    return {f"{name[:2]}e": readers[name](value) for name, value in bounds.items()}
