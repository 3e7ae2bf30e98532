"""Dates of MEDLINE citations: when the issue was published, as precisely as stated, and how new the record is."""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import etree

from mappings.errors import InvalidInput
from mappings.formats.fields import date_of
from mappings.formats.xml_elements import plain

_MONTHS: Final = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
    "win": 1, "spr": 4, "sum": 7, "aut": 10, "fal": 10,  # NLM's seasons are the quarters
}  # fmt: skip
_YEAR: Final = re.compile(r"\b(1[6-9]|2[01])\d\d\b")
_MEDLINE_DATE: Final = re.compile(r"(?P<year>\d{4}) +(?P<month>[A-Za-z]{3})[A-Za-z]*(?: +(?P<day>\d{1,2})\b)?")
_REVISED: Final = ("DateRevised", "DateCompleted", "DateCreated")


def published(element: etree._Element | None) -> dict[str, Any]:
    """`year` and `published` of a PubDate; a missing month or day counts as the first. Raises `InvalidInput`."""
    if element is None:
        return {}
    if loose := plain(element.find("MedlineDate")):
        return _loose(loose)
    year, month, day = (plain(element.find(name)) for name in ("Year", "Month", "Day"))
    if not year:
        return {}
    return _day(year, month or plain(element.find("Season")), day)


def _loose(text: str) -> dict[str, Any]:
    """A MedlineDate, such as "1998 Dec-1999 Jan", "2000 Spring" or "1976-1977": the date at its start."""
    if (match := _MEDLINE_DATE.match(text)) and match["month"].lower() in _MONTHS:
        return _day(match["year"], match["month"], match["day"] or "")
    year = _YEAR.search(text)
    return _day(year[0], "", "") if year else {}


def _day(year: str, month: str, day: str) -> dict[str, Any]:
    number = _MONTHS.get(month[:3].lower(), month or 1)
    try:
        text = f"{int(year):04}-{int(number):02}-{int(day or 1):02}"
    except ValueError as error:
        stated = " ".join(filter(None, (year, month, day)))[:40]
        raise InvalidInput(f"PubDate: {stated!r} is not a valid date", field="PubDate") from error
    return {"year": int(year), "published": date_of("PubDate", text).isoformat()}


def source_version(citation: etree._Element) -> int | None:
    """The version of the PMID and the date of its last revision, as one number; None without a date.

    The version counts first: NLM can still revise version 1 after version 2 has replaced it.
    """
    days = (_number(citation.find(name)) for name in _REVISED)
    day = next((day for day in days if day is not None), None)
    version = citation.find("PMID").get("Version", "1")
    return None if day is None or not re.fullmatch(r"\d{1,6}", version) else int(version) * 10**8 + day


def _number(element: etree._Element | None) -> int | None:
    """A date as the number YYYYMMDD."""
    if element is None:
        return None
    parts = [plain(element.find(name)) for name in ("Year", "Month", "Day")]
    if not re.fullmatch(r"\d{4} \d{1,2} \d{1,2}", " ".join(parts)):
        return None
    year, month, day = map(int, parts)
    return year * 10_000 + month * 100 + day
