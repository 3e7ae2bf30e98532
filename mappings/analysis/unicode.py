"""The word-break classes of UAX #29 as character sets for a regular expression, from Python's own Unicode tables.

The standard library lacks the Word_Break property; general categories and the short lists below give the same classes
for every script in use, except for the differences that `words` lists.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

MID_LETTER: Final = ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"
MID_NUMBER: Final = ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
MID_BOTH: Final = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"

_LETTER_CATEGORIES: Final = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"}
_EXTEND_CATEGORIES: Final = {"Mn", "Mc", "Me", "Cf"}
_MODIFIER_SYMBOLS: Final = "02C2-02C5 02D2-02D7 02DE-02DF 02E5-02EB 02ED 02EF-02FF"
_CIRCLED: Final = "24B6-24E9 1F130-1F149 1F150-1F169 1F170-1F189"
_HIRAGANA: Final = "3041-3096 309D-309F 1B001-1B11F 1F200"
_KATAKANA: Final = "3031-3035 309B-309C 30A0-30FA 30FC-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF9D 1B000"
_HAN: Final = "2E80-2FD5 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF"
_SOUTH_EAST_ASIAN: Final = "0E01-0E4E 0E81-0EDF 1000-109F 1780-17DD 1950-19DF 1A20-1AAD A9E0-A9FF AA60-AAC2"
_EXTEND: Final = "200C-200D FF9E-FF9F 1F3FB-1F3FF"
_ZERO_WIDTH_SPACE: Final = 0x200B
_NARROW_SPACE: Final = 0x202F
_LAST_LETTER_PLANE: Final = 0x1FFFF
"""Beyond it there are only ideographs, which `_HAN` lists."""


@dataclass(frozen=True, slots=True)
class WordBreak:
    """Contents of regular-expression character classes, without the brackets."""

    letter: str
    number: str
    joiner: str
    extend: str
    katakana: str
    single: str
    complex: str


def word_break() -> WordBreak:
    """The classes; computing them takes about a twentieth of a second."""
    apart, south_east = _codes(_HIRAGANA, _KATAKANA, _HAN), _codes(_SOUTH_EAST_ASIAN)
    codes = _by_category()
    alphabet = {code for category in _LETTER_CATEGORIES for code in codes[category]} - apart
    extenders = {code for category in _EXTEND_CATEGORIES for code in codes[category]} - {_ZERO_WIDTH_SPACE}
    return WordBreak(
        letter=_class((alphabet - south_east) | _codes(_MODIFIER_SYMBOLS, _CIRCLED)),
        number=_class(codes["Nd"]),
        joiner=_class([*codes["Pc"], _NARROW_SPACE]),
        extend=_class(extenders | _codes(_EXTEND)),
        katakana=_class(_codes(_KATAKANA)),
        single=_class(_codes(_HIRAGANA, _HAN)),
        complex=_class(alphabet & south_east),
    )


def _by_category() -> dict[str, list[int]]:
    codes: dict[str, list[int]] = defaultdict(list)
    for code in range(_LAST_LETTER_PLANE + 1):
        codes[unicodedata.category(chr(code))].append(code)
    return codes


def _codes(*ranges: str) -> set[int]:
    """The code points of ranges such as "3005-3007 3400"."""
    codes: set[int] = set()
    for item in " ".join(ranges).split():
        first, _, last = item.partition("-")
        codes.update(range(int(first, 16), int(last or first, 16) + 1))
    return codes


def _class(codes: Iterable[int]) -> str:
    return "".join(f"{_escape(first)}-{_escape(last)}" for first, last in _runs(sorted(set(codes))))


def _runs(codes: list[int]) -> Iterator[tuple[int, int]]:
    first = last = -1
    for code in [*codes, sys.maxunicode + 2]:
        if code == last + 1:
            last = code
            continue
        if first >= 0:
            yield first, last
        first = last = code


def _escape(code: int) -> str:
    return f"\\U{code:08x}"
