"""How many people a study had, as its abstract states it."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?P<number>\d{1,3}(?:[,\u2009\u00a0 ]\d{3})+|\d+)"
_PEOPLE: Final = (
    r"(?:patients?|participants?|subjects?|adults?|children|women|men|individuals|people|persons|volunteers?|infants?|newborns?"
    r"|neonates|adolescents|respondents|students|residents|workers|boys|girls|mothers|pregnancies|cases|veterans|athletes"
    r"|(?:out|in)-?patients|recipients|survivors|donors|members|physicians|nurses|twins|households|females|males)"
)
_COUNT: Final = re.compile(
    rf"(?<![\d.,/%\u00b1<>=])\b{_NUMBER}\s(?:[a-z][\w/-]*,?\s){{0,5}}?{_PEOPLE}\b", re.IGNORECASE
)
_LETTER_N: Final = re.compile(rf"\b[nN]\s?=\s?{_NUMBER}\b")
_ENTERED: Final = re.compile(
    r"\b(?:a total(?: of)?|in total,?|enrol+ed|recruited|included|randomi[sz]ed|randomly (?:assigned|allocated)|assigned|studied"
    r"|analy[sz]ed|analysis of|data (?:from|of|on)|involving|comprising|comprised|followed|surveyed|examined|evaluated"
    r"|(?:sample|cohort|study|population|group|series) of|trial (?:of|with|in)|all|among|consisted of|identified|treated)"
    r"(?:\sthe|\sall|\sabout|\sapproximately|\swere)?\s$",
    re.IGNORECASE,
)
_TOOK_PART: Final = re.compile(
    r"(?:\s[\w,()=-]+){0,4}?\s(?:were|was|underwent|participated|completed|received|took part|who|aged|entered)\b",
    re.IGNORECASE,
)
_POPULATION: Final = re.compile(
    r"\b(?:worldwide|globally|million|billion|per|in the (?:united states|us|uk|world)|annually|(?:each|every) year)\b",
    re.IGNORECASE,
)
_UNITS: Final = dict(
    zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], range(1, 10), strict=True)
)
_TENS: Final = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
) | dict(
    zip(
        ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
        range(10, 20),
        strict=True,
    )
)
_SPELLED: Final = re.compile(rf"\b({'|'.join(_TENS)})(?:[-\s]({'|'.join(_UNITS)}))?\b", re.IGNORECASE)
_BEFORE, _AFTER = 40, 60
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LEAST, _MOST = 2, 2_000_000_000


def sample_size(text: str) -> int | None:
    """The largest number of people that the text says took part; where it says so of none, the largest `n = `, or count.

    None for a text without any. Numbers of people in the world, or in each so many, are not of a study.
    """
    plain = _SPELLED.sub(_as_digits, text)
    counted = [item for item in _COUNT.finditer(plain) if _is_of_a_study(plain, item)]
    sure = [item for item in counted if _takes_part(plain, item)]
    counted = [item for item in counted if not _YEAR.fullmatch(item["number"])]
    for found in (sure, list(_LETTER_N.finditer(plain)), counted):
        known = [number for number in map(_value, found) if _LEAST <= number <= _MOST]
        if known:
            return max(known)
    return None


def _as_digits(found: re.Match[str]) -> str:
    return str(_TENS[found[1].lower()] + (_UNITS[found[2].lower()] if found[2] else 0))


def _value(found: re.Match[str]) -> int:
    return int(re.sub(r"\D", "", found["number"]))


def _takes_part(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - _BEFORE) : found.start()]
    return bool(_ENTERED.search(before) or _TOOK_PART.match(text, found.end(), found.end() + _AFTER))


def _is_of_a_study(text: str, found: re.Match[str]) -> bool:
    around = text[max(0, found.start() - _BEFORE // 2) : found.start()] + text[found.end() : found.end() + _AFTER // 2]
    return not _POPULATION.search(around) and not text[: found.start()].endswith((" in ", " of every "))
