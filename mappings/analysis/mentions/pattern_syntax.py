"""The words that every match of a regular expression needs, told from the expression itself.

They are read off its syntax tree, as the texts that its matches are made of: letters, digits and signs, `_APART` for
whatever is between words, `_OPEN` for what may be anything. Where there are too many texts, less is needed, never more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]  # the syntax tree has no public name
from typing import Any, Final, NamedTuple

from mappings.analysis.words import STOP_WORDS

_APART: Final = " "
_OPEN: Final = "\0"
_MOST: Final = 600
"""How many texts are told apart: of more, those before and after are read on their own."""
_WIDEST: Final = 16
_MOST_PIECES: Final = 16
_WIDEST_BRANCH: Final = 60
"""The most alternatives that are told apart."""
_CHECKED: Final = 4
_MARK: Final = re.compile(r"[^\w\s\0]")
_MORE: Final = "from at after his her he she has had have can been which than"
_COMMON: Final = STOP_WORDS | frozenset(_MORE.split())
_ENDS: Final = frozenset([_constants.AT_BOUNDARY, _constants.AT_BEGINNING, _constants.AT_END])
_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_BETWEEN: Final = frozenset([_constants.CATEGORY_SPACE, _constants.CATEGORY_NOT_WORD])
_WORD: Final = (_constants.CATEGORY, _constants.CATEGORY_WORD)
_WHOLE: Final = re.compile(rf"(?<![^\W_]|{_OPEN})[^\W_]+(?![^\W_]|{_OPEN})")
_PIECE: Final = re.compile(f"[^{_APART}{_OPEN}]+")

_Item = tuple[Any, Any]


class Need(NamedTuple):
    """What a sentence must have one of: `words`, or, where they are not `whole`, letters inside of words."""

    words: frozenset[str]
    whole: bool = True

    @property
    def is_rare(self) -> bool:
        """Whether most sentences do not meet it."""
        return 2 * len(self.words & _COMMON) < len(self.words)

    def cost(self) -> tuple[Any, ...]:
        """The less, the fewer sentences meet it, and the sooner that is seen."""
        return len(self.words & _COMMON), not self.whole, len(self.words), sorted(self.words)

    def implies(self, other: Need) -> bool:
        """Whether a sentence that meets this one meets `other`."""
        if other.whole:
            return self.whole and self.words <= other.words
        return all(any(map(word.__contains__, other.words)) for word in self.words)


def needed_words(pattern: str) -> list[tuple[Need, ...]]:
    """What the matches of a pattern need, for each of its alternatives: all of it. The rarest comes first."""
    items: list[_Item] = list(_parser.parse(pattern, re.IGNORECASE))
    readings = [_item(*item) for item in items]
    found = _rarest(_joined(readings).all_needed())
    branches = [(len(value[1]), place) for place, (kind, value) in enumerate(items) if kind is _constants.BRANCH]
    width, place = max(branches, default=(0, 0))
    if 0 < width <= _WIDEST_BRANCH and not _is_told_by_words(found):
        before, after = readings[:place], readings[place + 1 :]
        each = [_rarest(_joined([*before, _read(choice), *after]).all_needed()) for choice in items[place][1][1]]
        if any(map(_is_told_by_words, each)):
            return each
    return [found]


def _is_told_by_words(needs: Iterable[Need]) -> bool:
    return any(need.whole and need.is_rare for need in needs)


def _rarest(needs: Iterable[Need]) -> tuple[Need, ...]:
    kept: list[Need] = []
    for need in sorted({*needs}, key=Need.cost):
        if len(kept) < _CHECKED and not any(other.implies(need) for other in kept):
            kept.append(need)
    return tuple(kept)


class _Reading(NamedTuple):
    """The `texts` that something matches, and what it needs beside them."""

    texts: frozenset[str]
    needed: tuple[Need, ...] = ()

    def all_needed(self) -> tuple[Need, ...]:
        """What is needed for any of the texts, whatever stands around them, and beside them."""
        return (*self.needed, *_needs_of(self.texts))

    def blurred(self, is_sure: bool = True) -> _Reading:
        """One text for all, of which only is known whether words can go on at its ends; if it `is_sure`, with what it needs."""
        starts = _APART if all(map(_is_apart, (text[:1] for text in self.texts))) else ""
        ends = _APART if all(map(_is_apart, (text[-1:] for text in self.texts))) else ""
        return _Reading(frozenset([f"{starts}{_OPEN}{ends}"]), self.all_needed() if is_sure else ())

    def then(self, other: _Reading) -> _Reading:
        """This and then `other`."""
        before = self
        if len(self.texts) * len(other.texts) > _MOST:
            parted = _APART if all(_is_apart(text[:1]) for text in other.texts) else ""
            before = self._replace(texts=frozenset(text + parted for text in self.texts)).blurred()
        texts = frozenset(start + end for start in before.texts for end in other.texts)
        return _Reading(texts, (*before.needed, *other.needed))


_NOTHING: Final = _Reading(frozenset([""]))
_BREAK: Final = _Reading(frozenset([_APART]))
_ANYTHING: Final = _Reading(frozenset([_OPEN]))


@lru_cache(2048)
def _needs_of(texts: frozenset[str]) -> tuple[Need, ...]:
    whole = [_WHOLE.findall(f"{_OPEN}{text}{_OPEN}") for text in texts]
    pieces, marks = ([found.findall(text) for text in texts] for found in (_PIECE, _MARK))
    parts = (Need(_shortest(words), False) for rows in (pieces, marks) for words in _columns(rows))
    return (*map(Need, _columns(whole)), *(need for need in parts if len(need.words) <= _MOST_PIECES))


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[frozenset[str]]:
    """The first of every row, the second, and so on, also from the end, as far as all rows go, and the best of every row."""
    for place in range(min(map(len, rows))):
        yield frozenset(row[place] for row in rows)
        yield frozenset(row[-1 - place] for row in rows)
    if all(rows):
        yield frozenset(min(row, key=_commonness) for row in rows)


def _commonness(word: str) -> tuple[bool, bool, int]:
    """The less, the rarer: a number is rarer than a word, and a long word than a short one."""
    return word in _COMMON, not word[0].isdigit(), -len(word)


def _shortest(pieces: Set[str]) -> frozenset[str]:
    """Those of the pieces that contain no other."""
    kept: list[str] = []
    for piece in sorted(pieces, key=lambda piece: (len(piece), piece)):
        if len(kept) <= _MOST_PIECES and not any(map(piece.__contains__, kept)):
            kept.append(piece)
    return frozenset(kept)


def _read(items: Iterable[_Item]) -> _Reading:
    return _joined(_item(*item) for item in items)


def _joined(readings: Iterable[_Reading]) -> _Reading:
    found, text = _NOTHING, ""
    for read in readings:
        if len(read.texts) == 1 and not read.needed:
            text += next(iter(read.texts))
        else:
            found, text = found.then(_Reading(frozenset([text]))).then(read), ""
    return found.then(_Reading(frozenset([text])))


def _item(kind: Any, value: Any) -> _Reading:
    if kind is _constants.LITERAL:
        return _Reading(frozenset([_letter(value)]))
    if kind is _constants.IN:
        return _Reading(frozenset(_characters(value)))
    if kind is _constants.BRANCH:
        return _branch([_read(choice) for choice in value[1]])
    if kind is _constants.SUBPATTERN:
        return _read(value[3])
    if kind in _REPEATS:
        return _repeated(*value)
    if kind is _constants.AT:
        return _BREAK if value in _ENDS else _NOTHING
    if kind is _constants.ASSERT:
        return _beside(*value)
    if kind is _constants.ASSERT_NOT:  # `(?!\w)` and `(?<!\w)`
        return _BREAK if list(value[1]) == [(_constants.IN, [_WORD])] else _NOTHING
    return _ANYTHING


def _is_apart(letter: str) -> bool:
    """Whether a character is known to be of no word."""
    return bool(letter) and letter != _OPEN and not letter.isalnum()


def _letter(code: int) -> str:
    return chr(code).lower()


def _characters(items: Sequence[_Item]) -> Iterator[str]:
    """The characters of a set, each as a text."""
    if items[0][0] is _constants.NEGATE:
        yield _APART if _WORD in items else _OPEN
        return
    for kind, value in items:
        if kind is _constants.LITERAL:
            yield _letter(value)
        elif kind is _constants.RANGE and value[1] - value[0] < _WIDEST:
            yield from map(_letter, range(value[0], value[1] + 1))
        else:
            yield _APART if kind is _constants.CATEGORY and value in _BETWEEN else _OPEN


def _branch(choices: Sequence[_Reading]) -> _Reading:
    every = _Reading(frozenset(text for choice in choices for text in choice.texts))
    if all(choice.needed for choice in choices):
        either = [min(choice.needed, key=Need.cost) for choice in choices]
        if len({need.whole for need in either}) == 1:
            every = every._replace(needed=(Need(frozenset().union(*(need.words for need in either)), either[0].whole),))
    return every if len(every.texts) <= _MOST else every.blurred()


def _repeated(least: int, most: int, items: Sequence[_Item]) -> _Reading:
    found = _read(items)
    if most > 1 and found.texts != _BREAK.texts:
        found = found.blurred(is_sure=least > 0)
    return found if least else _Reading(found.texts | _NOTHING.texts)


def _beside(direction: int, items: Sequence[_Item]) -> _Reading:
    """What has to stand after a place (for the direction 1) or before it (-1)."""
    found = _read(items)
    apart = all(map(_is_apart, (text[:1] if direction > 0 else text[-1:] for text in found.texts)))
    return _Reading((_BREAK if apart else _NOTHING).texts, found.all_needed())
