"""Values of a record, checked against the schema and the fields that the collection declares; errors name the field."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import islice
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import FieldValue, clean
from mappings.errors import InvalidInput
from mappings.fields import RESERVED, Field

EARLIEST: Final = date(1677, 9, 22)
LATEST: Final = date(2262, 4, 11)
MAX_KEYWORD_BYTES: Final = 1024
MAX_KEYWORD_CHARACTERS: Final = MAX_KEYWORD_BYTES // 4
MAX_KEYWORDS: Final = 1000
AUTHORS: Final = "authors"
"""The field whose values can be names in parts."""

MAX_DROPPED: Final = 100
MAX_DROPPED_CHARACTERS: Final = 64
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?=$|[T ])")


def text_of(record: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    """The text under `name`, cleaned; "" if it is missing and not `required`."""
    value = record.get(name)
    if value is None:
        if required:
            raise InvalidInput(f"{name} is missing: give a string", field=name)
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {kind(value)}", field=name)
    return clean(value)


def id_of(record: Mapping[str, Any], name: str = "id") -> str:
    """The id under `name`; a whole number is written in digits."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        found = "it is missing" if value in (None, "") else f"not {kind(value)}"
        raise InvalidInput(f"{name} must be a string or a whole number; {found}", field=name)
    return value


def texts_of(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The list of strings under `name`; empty if it is missing."""
    value = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"{name} must be a list of strings", field=name)
    return tuple(clean(item) for item in value)


def object_of(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under `name`; empty if it is missing."""
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be an object, not {kind(value)}", field=name)
    return value


def objects_of(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The list of objects under `name`; empty if it is missing."""
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidInput(f"{name} must be a list of objects", field=name)
    return value


def labels_of(record: Mapping[str, Any], collection: Collection) -> frozenset[str]:
    """The access labels: the record's own, or the collection's default if it has none; an empty list stays empty."""
    if record.get("labels") is None:
        return collection.default_labels
    labels = frozenset(texts_of(record, "labels"))
    if any(label != label.strip() or not label for label in labels):
        raise InvalidInput("an access label must be a name without spaces around it", field="labels")
    return labels


def fields_of(record: Mapping[str, Any], collection: Collection) -> dict[str, FieldValue]:
    """The collection's fields that the record has. What else it has is for `dropped_of` to name."""
    found = {name: field_value(item, record[name]) for name, item in collection.fields.items() if name in record}
    return {name: value for name, value in found.items() if value is not None}


def dropped_of(record: Mapping[str, Any], collection: Collection, schema: Iterable[str] = ()) -> tuple[str, ...]:
    """The keys that have a value and are neither fields of the collection nor in the format's own `schema`, by name.

    They are cut to a bounded number and length, since a record can have any keys.
    """
    known = RESERVED.union(schema, collection.fields)
    found = (name for name, value in record.items() if name not in known and _has(value))
    names = (" ".join(clean(name).split())[:MAX_DROPPED_CHARACTERS] for name in found)
    return tuple(sorted(islice(dict.fromkeys(names), MAX_DROPPED)))


def _has(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def field_value(field: Field, value: Any) -> FieldValue | None:
    """`value` as the field's type; None for null, an empty string and an empty list. Raises `InvalidInput`."""
    if value is None or value in ("", []):
        return None
    if field.type == "number":
        return _number(field.name, value)
    if field.type == "date":
        return date_of(field.name, value)
    return _keywords(field.name, value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{name} must be a number, not {kind(value)}", field=name)
    return float(value)


def date_of(name: str, value: Any) -> date:
    """The date at the start of a string such as 2021-02-28 or 2021-02-28T10:00:00Z. Raises `InvalidInput` that names `name`."""
    if not isinstance(value, str) or not _DATE.match(value):
        shown = repr(value[:40]) if isinstance(value, str) else kind(value)
        raise InvalidInput(f"{name} must be a date such as 2021-02-28, not {shown}", field=name)
    try:
        found = date.fromisoformat(value[:10])
    except ValueError as error:
        raise InvalidInput(f"{name}: {value[:10]} is not a valid date", field=name) from error
    if not EARLIEST <= found <= LATEST:
        raise InvalidInput(f"{name}: {found} is out of range; dates run from {EARLIEST} to {LATEST}", field=name)
    return found


def _keywords(name: str, value: Any) -> str | tuple[str, ...] | None:
    if isinstance(value, list):
        if len(value) > MAX_KEYWORDS:
            raise InvalidInput(f"{name} has {len(value):,} values; at most {MAX_KEYWORDS:,} are accepted", field=name)
        return tuple(dict.fromkeys(item for item in (_keyword(name, item) for item in value) if item)) or None
    return _keyword(name, value) or None


def keywords(values: Iterable[str]) -> list[str]:
    """The distinct `values`, cut to the number and length that a keyword field accepts: sources can have longer lists."""
    return [value[:MAX_KEYWORD_CHARACTERS] for value in islice(dict.fromkeys(values), MAX_KEYWORDS)]


def _keyword(name: str, value: Any) -> str:
    if name == AUTHORS and isinstance(value, dict):
        value = person(value) or value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput(f"{name} must be a string or a list of strings, not {kind(value)}", field=name)
    keyword = clean(str(value)).strip()
    if len(keyword.encode()) > MAX_KEYWORD_BYTES:
        raise InvalidInput(f"{name} has a value of more than {MAX_KEYWORD_BYTES:,} bytes", field=name)
    return keyword


def person(value: Mapping[str, Any]) -> str:
    """A name in parts, as in CSL-JSON (`family`, `given`, `suffix`) or CORD-19 (`last`, `first`), as "Family, Given".

    Without a family name it is the `literal` or the `name`; "" if there is none.
    """
    parts = [value.get("family") or value.get("last"), value.get("given") or value.get("first"), value.get("suffix")]
    names = [part.strip() if isinstance(part, str) else "" for part in parts]
    whole = value.get("literal") or value.get("name")
    return ", ".join(filter(None, names)) if names[0] else whole.strip() if isinstance(whole, str) else ""


def kind(value: Any) -> str:
    """The type of a JSON value, in words."""
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "something else")
