"""What can be typed into a query beside words: "quoted phrases", -excluded words, and field:value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from mappings.analysis.words import terms
from mappings.fields import Field
from search.query import Filter, Range, Terms

MAX_FREE_WORDS: Final = 12
"""A text with more words outside quotes is a pasted headline or article: its quotes and dashes are those of prose."""

DOCUMENT: Final = "id"
"""As a field, the id of the document."""

_QUOTES: Final = str.maketrans("“”„‟«»", '""""""')
_OPERATOR: Final = re.compile(
    r"""(?P<minus>(?<!\S)-)?"(?P<phrase>[^"]+)"            # "a phrase", or one that is excluded
    |(?<!\S)-(?P<excluded>[^\W\d_][^\s":]*)(?!\S)          # -word
    |(?<!\S)(?P<field>[^\W\d]\w*):(?P<value>"[^"]+"|[^\s"/][^\s"]*)""",
    re.VERBOSE,
)
_PLAIN_QUOTES: Final = re.compile(r'"[^"]*"')
_WILDCARD: Final = re.compile(r"(?<=\w)\*")
_Bounds = tuple[float, float] | tuple[date, date]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query without its operators: `text` are its words, those of its phrases too. `ids` name documents."""

    text: str
    free: str = ""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Reader:
    """Collects what the operators of one text say; what is no operator after all stays among the words."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self.phrases: list[str] = []
        self.excluded: list[str] = []
        self.filters: list[Filter] = []
        self.ids: list[str] = []
        self.notes: list[str] = []

    def __call__(self, match: re.Match[str]) -> str:
        """What is left of an operator among the words."""
        found = match.groupdict()
        if found["field"]:
            value = found["value"].strip('"').strip()
            return "" if self._field(found["field"], value) else f"{found['field']} {value}"
        phrase = found["phrase"] or found["excluded"]
        if not terms(phrase):  # stop words and punctuation are not in an index
            return f" {phrase} "
        (self.excluded if found["minus"] or found["excluded"] else self.phrases).append(phrase)
        return ""

    def _field(self, name: str, value: str) -> bool:
        if name.lower() == DOCUMENT and DOCUMENT not in self._fields:
            self.ids.append(value)
            return True
        field = self._named(name)
        if field is None:
            known = ", ".join([*self._fields, DOCUMENT])
            self.notes.append(
                f"there is no field {name!r} here, so {name}:{value} was searched as words; fields are {known}"
            )
            return False
        chosen = Terms(field.name, _spellings(value)) if field.type == "keyword" else _range(field, value)
        if chosen is None:
            example = (
                "2015, 2015..2020 or >=2015" if field.type == "number" else "2020, 2020-03 or 2020-03-01..2020-12-31"
            )
            self.notes.append(
                f"{value!r} is no {field.type}, so it was searched as words; write {field.name}:{example}"
            )
            return False
        self.filters.append(chosen)
        return True

    def _named(self, name: str) -> Field | None:
        wanted = name.lower()
        return next((item for key, item in self._fields.items() if wanted in (key.lower(), item.title.lower())), None)


def parse(text: str, fields: Mapping[str, Field]) -> Parsed:
    """The words and operators of a query; `fields` are those of its collection, by name.

    An operator that makes no sense is read as words, and a note says so. A query of exclusions alone is read as words:
    it does not say what to look for.
    """
    plain = text.translate(_QUOTES)
    if len(_PLAIN_QUOTES.sub(" ", plain).split()) > MAX_FREE_WORDS:
        return Parsed(text, text)
    reader = _Reader(fields)
    free = " ".join(_OPERATOR.sub(reader, plain).replace('"', " ").split())
    if _WILDCARD.search(free):
        reader.notes.append("an asterisk stands for nothing here: words are found by their stems")
    if reader.excluded and not (terms(free) or reader.phrases or reader.filters or reader.ids):
        note = "only excluded words were given, which does not say what to look for: they were searched as words"
        return Parsed(text, text, notes=(*reader.notes, note))
    return Parsed(
        text=" ".join([free, *reader.phrases]).strip() if free or reader.phrases else "",
        free=free,
        phrases=tuple(reader.phrases),
        excluded=tuple(reader.excluded),
        filters=tuple(reader.filters),
        ids=tuple(reader.ids),
        notes=tuple(reader.notes),
    )


def _spellings(value: str) -> tuple[str, ...]:
    """The value as typed, and as names are often spelt: keyword fields are compared letter by letter."""
    return tuple(dict.fromkeys((value, value.lower(), value.upper(), value.capitalize(), value.title())))


def _range(field: Field, value: str) -> Range | None:
    """The range that `value` names: one value, both ends joined by "..", or a bound after <, <=, > or >=."""
    read = _number if field.type == "number" else _period
    try:
        if ".." in value:
            low, high = (read(end) if end else None for end in value.split("..", maxsplit=1))
            return Range(field.name, low and low[0], high and high[1]) if low or high else None
        sign = next((sign for sign in (">=", "<=", ">", "<") if value.startswith(sign)), "")
        return _compared(field, sign, read(value.removeprefix(sign)))
    except (ValueError, OverflowError):
        return None


def _compared(field: Field, sign: str, value: _Bounds) -> Range:
    low, high = value
    if sign == ">":
        after = high + timedelta(days=1) if isinstance(high, date) else math.nextafter(high, math.inf)
        return Range(field.name, low=after)
    if sign == "<":
        before = low - timedelta(days=1) if isinstance(low, date) else math.nextafter(low, -math.inf)
        return Range(field.name, high=before)
    return Range(field.name, None if sign == "<=" else low, None if sign == ">=" else high)


def _number(text: str) -> tuple[float, float]:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number, number


def _period(text: str) -> tuple[date, date]:
    """The first and the last day of a year, a month or a day."""
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 1:
        return date(parts[0], 1, 1), date(parts[0], 12, 31)
    if len(parts) == 2:
        year, month = parts
        following = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1), following - timedelta(days=1)
    day = date(*parts)
    return day, day
