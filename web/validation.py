"""Validates JSON values by pydantic models, and turns the first error into `InvalidInput` with its field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from mappings.documents import clean
from mappings.errors import InvalidInput


def parse_json(body: bytes) -> Any:
    """Parse `body` as JSON and remove the characters that engines cannot store from its texts.

    Raises `InvalidInput`, also for a key that occurs twice in an object: one of its values would be left out.
    """
    try:
        return _cleaned(json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_distinct))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not valid JSON: {str(error)[:200]}", field="body") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = {clean(key): value for key, value in pairs}
    if len(found) < len(pairs):
        names = [clean(key) for key, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice in an object")
    return found


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items()}
    return value


def _known(names: Mapping[str, Any] | Sequence[str]) -> str:
    return f"known are {', '.join(names)}" if names else "it has none"


Form = TypeVar("Form", bound=BaseModel)


def validated(kind: type[Form], value: Any, *, strict: bool = True) -> Form:
    """Validate `value` as a `kind`. Raises `InvalidInput` for the first error, with its field."""
    try:
        return kind.model_validate(value, strict=strict)
    except ValidationError as error:
        raise _translated(error, kind) from error


def _translated(error: ValidationError, kind: type[BaseModel]) -> InvalidInput:
    first = error.errors(include_url=False)[0]
    place = [str(part)[:80] for part in first["loc"]]
    if "filters" in place[:-1]:
        where = ".".join(place[: place.index("filters") + 2])
        return InvalidInput(f"{where} takes a value, a list of values, or a range with 'gte' and 'lte'", field=where)
    field = ".".join(place) or "body"
    if first["type"] == "extra_forbidden":
        known = _fields(_form_at(kind, first["loc"][:-1]))
        return InvalidInput(f"there is no field {place[-1]!r}; {_known(known)}", field=field)
    if first["type"] == "missing":
        return InvalidInput(f"{field} is missing", field=field)
    return InvalidInput(f"{field}: {first['msg'][0].lower()}{first['msg'][1:]}", field=field)


def _form_at(kind: type[BaseModel], place: Sequence[int | str]) -> type[BaseModel]:
    """The form at a place in a `kind`, such as that of an item of one of its lists."""
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    for part in place:
        if part in fields:
            inner = next(_forms_in(fields[str(part)].annotation), kind)
            return _form_at(inner, place[place.index(part) + 1 :])
    return kind


def _forms_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _forms_in(part)


def _fields(kind: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]
