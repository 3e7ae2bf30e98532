"""Reads a JSON object field by field, and refuses what is not one with the field at fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from mappings.documents import clean
from mappings.errors import InvalidInput

_MOST_NUMBER: Final = 1_000_000
_MOST_CHARACTERS: Final = 500
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|\+00:00)", re.ASCII)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class GivenObject:
    """A JSON object that was given, and where."""

    values: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str, known: tuple[str, ...]) -> GivenObject:
        """The object at `where`. Raises `InvalidInput` for another value, and for a field that is not `known`."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{where} must be a JSON object", field=where)
        if unknown := sorted(map(str, value.keys() - set(known))):
            raise InvalidInput(
                f"{unknown[0]!r:.80} is not a field here; known are {', '.join(known)}",
                field=f"{where}.{unknown[0][:80]}",
            )
        return cls(value, where)

    def field(self, name: str) -> str:
        """Where a field of the object is."""
        return f"{self.where}.{name}"

    def text(self, name: str, most: int) -> str:
        """A text of at most `most` characters; "" without the field."""
        return _text(self.values.get(name, ""), most, self.field(name))

    def needed(self, name: str, most: int) -> str:
        """A text that is not blank."""
        text = self.text(name, most)
        if not text.strip():
            raise InvalidInput(f"{self.field(name)} must not be empty", field=self.field(name))
        return text

    def texts(self, name: str, most: int) -> list[str]:
        """A list of at most `most` texts."""
        return list(self.items(name, most, lambda value, where: _text(value, _MOST_CHARACTERS, where)))

    def moment(self, name: str) -> str:
        """A moment in UTC as ISO 8601; "" without the field."""
        text = self.text(name, 40)
        if text and not _MOMENT.fullmatch(text):
            raise InvalidInput("a moment is written as 2026-03-01T09:30:00+00:00", field=self.field(name))
        return text

    def flag(self, name: str) -> bool:
        """True or false; false without the field."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise InvalidInput(f"{self.field(name)} must be true or false", field=self.field(name))
        return value

    def number(self) -> int:
        """The field `number`: a whole number from 1."""
        value = self.values.get("number")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_NUMBER:
            raise InvalidInput(
                f"{self.field('number')} must be a whole number from 1 to {_MOST_NUMBER:,}", field=self.field("number")
            )
        return value

    def items(self, name: str, most: int, parse: Callable[[object, str], Item]) -> tuple[Item, ...]:
        """A list of at most `most` items, each read by `parse` from its value and where it is."""
        values = self.values.get(name, [])
        if not isinstance(values, list):
            raise InvalidInput(f"{self.field(name)} must be a list", field=self.field(name))
        if len(values) > most:
            raise InvalidInput(f"{self.field(name)} has {len(values):,} items; at most {most}", field=self.field(name))
        return tuple(parse(value, f"{self.field(name)}.{place}") for place, value in enumerate(values))

    def check_numbers(self, name: str, numbers: list[int]) -> None:
        """Raise `InvalidInput` unless the numbers of the items of a list are unique."""
        if len(set(numbers)) < len(numbers):
            raise InvalidInput(f"of {self.field(name)}, two have the same number", field=self.field(name))


def _text(value: object, most: int, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{where} must be a text", field=where)
    if clean(value) != value:
        raise InvalidInput(f"{where} has control characters", field=where)
    return short_text(value, most, where, where)


def short_text(text: str, most: int, where: str, what: str) -> str:
    """`text`, if it has at most `most` characters. Raises `InvalidInput` that calls it `what`."""
    if len(text) > most:
        raise InvalidInput(f"{what} has at most {most:,} characters, and this has {len(text):,}", field=where)
    return text
