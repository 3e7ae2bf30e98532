"""The rows of the form that a cohort is built with: read from what a browser sends, and made from a definition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from mappings.bundles import BUNDLE
from mappings.clinical.concepts import ConceptLexicon
from mappings.documents import clean
from mappings.errors import InvalidInput, NotFound
from search.cohorts.definition import MAX_CRITERIA
from search.cohorts.read import GROUPS

_FIELD: Final = re.compile(r"(group|concept|assertion|words|since|until|days|of|filters|off)\.([0-9]{1,3})")
_PLACE: Final = re.compile(r"(?:.*\.)?(all|any|none)\.([0-9]+)(?:\.(\w+))?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBERED: Final = re.compile(r"criterion ([0-9]+): ")


OFF: Final = "yes"


class RowError(InvalidInput):
    """A row can't be used; `row` is its place from 0, and `part` its field, "" for the whole row."""

    def __init__(self, message: str, row: int, part: str = "") -> None:
        super().__init__(message, field=f"{part}.{row}" if part else f"row.{row}")
        self.row = row
        self.part = part


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One row as it was typed. `of` is the number of another row as the page shows it, from 1.

    `filters` are conditions that the form has no field for, as a JSON object: they stay as they are. A row that is `off`, which
    is "" for one that is on, stays in the form and is not asked for.
    """

    group: str = "all"
    concept: str = ""
    assertion: str = "present"
    words: str = ""
    since: str = ""
    until: str = ""
    days: str = ""
    of: str = ""
    filters: str = ""
    off: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether the row asks for something, and is on."""
        return not (self.is_empty or self.off)

    @property
    def is_empty(self) -> bool:
        """Whether the row asks for nothing."""
        return not (self.concept or self.words or self.since or self.until or self.days or self.filters)

    @property
    def further(self) -> str:
        """The conditions that the form has no field for, in words."""
        given = _filters(self.filters)
        return "; ".join(f"{name} {_in_words(value)}" for name, value in given.items())


def read_rows(sent: Mapping[str, str]) -> list[CriterionRow]:
    """The rows of a form, in order. Raises `InvalidInput` if there are too many."""
    found: dict[int, dict[str, str]] = {}
    for name, value in sent.items():
        if match := _FIELD.fullmatch(name):
            found.setdefault(int(match[2]), {})[match[1]] = clean(value).strip()
    if len(found) > MAX_CRITERIA:
        raise InvalidInput(f"a cohort has at most {MAX_CRITERIA} criteria", field="all")
    return [CriterionRow(**found[number]) for number in sorted(found)]


def switched(rows: Sequence[CriterionRow], place: int) -> list[CriterionRow]:
    """The rows with one of them switched off, or on again."""
    return [replace(row, off="" if row.off else OFF) if at == place else row for at, row in enumerate(rows)]


def without_row(rows: Sequence[CriterionRow], place: int) -> list[CriterionRow]:
    """The rows without one; what counted days from it no longer does, and the numbers of the later ones move up."""
    kept = [item for number, item in enumerate(rows) if number != place]
    return [_renumbered(item, place + 1) for item in kept]


def as_definition(rows: Sequence[CriterionRow]) -> tuple[dict[str, Any], list[int]]:
    """The definition as JSON, and for each of its criteria in their order the place of its row.

    Rows that are empty or off are left out.

    Raises `RowError` for an unknown group, and for what is not even a number or a date.
    """
    for place, row in enumerate(rows):
        if row.group not in GROUPS:
            raise RowError(f"a row is one of {', '.join(GROUPS)}", place, "group")
    placed = [(group, place) for group in GROUPS for place, row in enumerate(rows) if _fits(row, group)]
    order = [place for _, place in placed]
    groups: dict[str, Any] = {}
    for group, place in placed:
        groups.setdefault(group, []).append(_criterion(rows[place], place, order))
    return groups, order


def rows_of(
    content: Mapping[str, Any], lexicon: ConceptLexicon | None, bundles: Mapping[str, str] = MappingProxyType({})
) -> list[CriterionRow]:
    """The rows of a definition as JSON; `bundles` has what to call the bundle of an id.

    What is no definition gives the rows that can be read.
    """
    placed = [(group, item) for group in GROUPS for item in _listed(content.get(group))]
    return [_row(group, item, lexicon, bundles) for group, item in placed][:MAX_CRITERIA]


def row_error(error: InvalidInput, rows: Sequence[CriterionRow]) -> RowError | None:
    """The error as one of a row, if it names a criterion of the definition that the rows make."""
    if isinstance(error, RowError):
        return error
    _, order = as_definition(rows)
    field = error.field or ""
    if numbered := _NUMBERED.match(error.message):
        part = "of" if field == "of" else "days"
        return RowError("days are counted from another row, and never in a circle", order[int(numbered[1])], part)
    match = _PLACE.fullmatch(field)
    if not match:
        return None
    places = [place for place in order if rows[place].group == match[1]]
    part = {"within_days": "days", "bundle": "concept"}.get(match[3] or "", match[3] or "")
    return RowError(_without_place(error.message), places[int(match[2])], part)


def _without_place(message: str) -> str:
    """A message without the place in the definition, which nobody sees on a page."""
    return re.sub(r"^(?:all|any|none)\.[0-9]+(?:\.\w+)?:? ?", "", message)


def _fits(row: CriterionRow, group: str) -> bool:
    return row.group == group and row.is_asked


def _criterion(row: CriterionRow, place: int, order: Sequence[int]) -> dict[str, Any]:
    given: dict[str, Any] = {"concept": row.concept, "words": row.words}
    if row.concept:
        given["assertion"] = row.assertion
    for name in ("since", "until"):
        day = getattr(row, name)
        if day and not _DAY.fullmatch(day):
            raise RowError("a date is written as YYYY-MM-DD", place, name)
        given[name] = day
    found = {name: value for name, value in given.items() if value}
    if filters := _filters(row.filters):
        found["filters"] = filters
    return found | _distance(row, place, order)


def _distance(row: CriterionRow, place: int, order: Sequence[int]) -> dict[str, int]:
    if not row.days:
        return {}
    if not _is_number(row.days):
        raise RowError("the days are a whole number", place, "days")
    target = int(row.of) - 1 if _is_number(row.of) else -1
    if target not in order or target == place:
        raise RowError("choose another row that the days are counted from", place, "of")
    return {"within_days": int(row.days), "of": order.index(target)}


def _row(group: str, item: Any, lexicon: ConceptLexicon | None, bundles: Mapping[str, str]) -> CriterionRow:
    given = item if isinstance(item, dict) else {"concept": item}
    texts = {name: str(given[name]) for name in ("words", "since", "until", "assertion") if given.get(name)}
    filters = given.get("filters")
    days, of = given.get("within_days"), given.get("of")
    bundle = str(given.get("bundle") or "")
    concept = _shown_concept(str(given.get("concept") or ""), str(given.get("typed") or ""), lexicon)
    return CriterionRow(
        group=group,
        concept=bundles.get(bundle, f"{BUNDLE}{bundle}") if bundle else concept,
        days="" if days is None else str(days),
        of=str(of + 1) if isinstance(of, int) else "",
        filters=json.dumps(filters, sort_keys=True) if filters else "",
        **texts,
    )


def _shown_concept(named: str, typed: str, lexicon: ConceptLexicon | None) -> str:
    """A name of the concept that leads back to it: the one that was typed, if it does."""
    if lexicon is None or not named:
        return named
    try:
        concept = lexicon.get(named)
    except NotFound:
        return named
    names = (typed, concept.name)
    return next((name for name in names if name and (found := lexicon.named(name)) and found.id == concept.id), named)


def _renumbered(row: CriterionRow, removed: int) -> CriterionRow:
    number = int(row.of) if _is_number(row.of) else 0
    if number == removed:
        return replace(row, of="", days="")
    return replace(row, of=str(number - 1)) if number > removed else row


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8


def _filters(text: str) -> dict[str, Any]:
    """The filters of a row; what is not a JSON object is none."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value.get('gte', '')}..{value.get('lte', '')}"
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
