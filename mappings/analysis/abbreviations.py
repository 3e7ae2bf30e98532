"""Abbreviations: those that a document defines, and those of our dictionary, in both directions.

`defined` follows A. S. Schwartz and M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in
biomedical text" (Pacific Symposium on Biocomputing, 2003): the characters of the short form are matched from right to
left in the words before the bracket, the first character at the start of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from mappings.analysis.lexicon import rows
from mappings.analysis.words import terms

_BRACKET: Final = re.compile(r"\(([^()]{2,120})\)")
_WINDOW: Final = 300
_PIECES: Final = re.compile(r"\w+")
_SHORT: Final = re.compile(r"[A-Za-z0-9][\w./&+\-]{1,9}(?: [\w.\-]{1,6})?")
_PREFIXES: Final = frozenset(["anti", "non", "pre", "post", "pro", "co"])
_PLURAL: Final = re.compile(r"^(\W*[A-Z][A-Z0-9]+)['’]?s\b")
_BOUNDARY: Final = re.compile(r"[.;:!?]\s|\n|[()]")


def defined(text: str) -> dict[str, str]:
    """Short form -> long form for every "long form (LF)" and "LF (long form)" in `text`; the first definition counts."""
    found: dict[str, str] = {}
    for match in _BRACKET.finditer(text):
        inside = re.split(r"[;,]", match[1], maxsplit=1)[0].strip()
        before = _BOUNDARY.split(text[max(0, match.start() - _WINDOW) : match.start()])[-1].strip()
        pair = _define(inside, before)
        if pair:
            found.setdefault(*pair)
    return found


def _define(inside: str, before: str) -> tuple[str, str] | None:
    if _is_short(inside):
        long = _best_long_form(inside, _candidate(inside, before))
        if long:
            return inside, long
    word = before.rpartition(" ")[2]
    long = _best_long_form(word, inside) if _is_short(word) and " " in inside else ""
    return (word, long) if long else None


def _is_short(text: str) -> bool:
    return bool(_SHORT.fullmatch(text)) and any(map(str.isupper, text[1:] if len(text) > 2 else text))


def _candidate(short: str, before: str) -> str:
    """The words that can contain the long form: at most min(|A| + 5, 2 |A|) for |A| characters (section 3.1)."""
    most = min(len(short) + 5, 2 * len(short))
    return " ".join(before.split()[-most:])


def _best_long_form(short: str, long: str) -> str:
    """The shortest end of `long` that contains the characters of `short` in order; "" if there is none (figure 1)."""
    place = len(long)
    for index in range(len(short) - 1, -1, -1):
        character = short[index].lower()
        if not character.isalnum():
            continue
        place = _before(long, character, place, first=index == 0)
        if place < 0:
            return ""
    start = long.rfind(" ", 0, place + 1) + 1
    form = long[start:].strip(" ,-")
    words = form.split()
    too_long = len(words) > min(len(short) + 5, 2 * len(short))
    return "" if len(form) <= len(short) or short in words or too_long else form


def _before(long: str, character: str, place: int, *, first: bool) -> int:
    """The last place of `character` before `place`; at the start of a word if it is the first of the short form."""
    lowered = long.lower()
    place = lowered.rfind(character, 0, place)
    while first and place > 0 and long[place - 1].isalnum():
        place = lowered.rfind(character, 0, place)
    return place


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A row of the dictionary. `cased`: the short form counts only in this spelling. `longs` are all spellings of `long`."""

    short: str
    long: str
    cased: bool
    longs: tuple[str, ...] = ()


def expansions(words: Sequence[str]) -> list[tuple[str, str]]:
    """(short, long) for every abbreviation or long form of our dictionary among `words`, in their order.

    A short form with several senses gives each of them, the most common first. Long forms are matched by stems, so
    plurals count; of two that overlap, the longer one counts. A short form that counts in one spelling only ("ALL", "OR")
    is not given for its long form: in lowercase, as in an index, it would be another word.
    """
    found = [*_from_short(words), *_from_long(words)]
    return [(entry.short, entry.long) for entry in dict.fromkeys(found)]


def senses(short: str) -> Sequence[Abbreviation]:
    """The rows of our dictionary for this short form as written, or its plural, the most common sense first."""
    return _written(tuple(_pieces(short)))


def _written(pieces: tuple[str, ...]) -> list[Abbreviation]:
    """The rows for a short form as written: "eGFR" is not "EGFR", although that counts in any spelling."""
    found = _by_short().get(tuple(piece.lower() for piece in pieces), ())
    exact = {entry: pieces == tuple(_PIECES.findall(entry.short)) for entry in found}
    alone = any(entry.cased and same for entry, same in exact.items())
    return [entry for entry, same in exact.items() if same or not (entry.cased or alone)]


def shortened(long: str) -> Sequence[Abbreviation]:
    """The rows of our dictionary for this long form, by stems."""
    return _by_long().get(tuple(terms(long)), ())


def singular(short: str) -> str:
    """A short form without the s of its plural: "NSAIDs" is "NSAID"."""
    return _PLURAL.sub(r"\1", short)


def _from_short(words: Sequence[str]) -> Iterator[Abbreviation]:
    pieces = [piece for word in words for piece in _pieces(word)]
    for start, end in _longest(tuple(piece.lower() for piece in pieces), _by_short()):
        yield from _written(tuple(pieces[start:end]))


def _pieces(word: str) -> list[str]:
    word = singular(word)
    # "HIV-positive" and "anti-TNF" contain abbreviations; the CSF of "G-CSF" is a different one.
    head, hyphen, _ = word.partition("-")
    known = tuple(_PIECES.findall(word.lower())) in _by_short() or head.lower() in _PREFIXES
    if not hyphen or known:
        return _PIECES.findall(word)
    return _PIECES.findall(head)


def _from_long(words: Sequence[str]) -> Iterator[Abbreviation]:
    stems = tuple(terms(" ".join(words)))
    for start, end in _longest(stems, _by_long()):
        yield from (entry for entry in _by_long()[stems[start:end]] if not entry.cased)


_Table = dict[tuple[str, ...], list[Abbreviation]]


def _longest(sequence: tuple[str, ...], table: _Table) -> Iterator[tuple[int, int]]:
    most = max(map(len, table))
    start = 0
    while start < len(sequence):
        ends = range(min(start + most, len(sequence)), start, -1)
        end = next((end for end in ends if sequence[start:end] in table), 0)
        if end:
            yield start, end
        start = end or start + 1


@cache
def dictionary() -> tuple[Abbreviation, ...]:
    """All rows of our dictionary; of several senses of a short form, the most common comes first."""
    return tuple(_entry(*row) for row in rows("abbreviations"))


def _entry(short: str, long: str, case: str = "") -> Abbreviation:
    longs = tuple(long.split("|"))
    return Abbreviation(short, longs[0], case == "case", longs)


@cache
def _by_short() -> _Table:
    table: _Table = {}
    for entry in dictionary():
        table.setdefault(tuple(piece.lower() for piece in _PIECES.findall(entry.short)), []).append(entry)
    return table


@cache
def _by_long() -> _Table:
    table: _Table = {}
    for entry in dictionary():
        for long in entry.longs:
            table.setdefault(tuple(terms(long)), []).append(entry)
    return table
