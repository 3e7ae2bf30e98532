"""Which patterns can match in a sentence, by its words: to see that some are missing costs less than a search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from mappings.analysis.mentions.pattern_syntax import needed_words

_SYNTAX: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
_FIRST: Final = 2


class _Entry(NamedTuple):
    """What an alternative of the pattern `number` needs: a word of each set of `whole`, and letters of each of `pieces`."""

    number: int
    whole: tuple[frozenset[str], ...]
    pieces: tuple[tuple[str, ...], ...]


class PatternWords:
    """Tells which of several patterns can match in a sentence, by its words."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._open: list[_Entry] = []
        self._by_word: dict[str, list[_Entry]] = {}
        for number, pattern in enumerate(patterns):
            for needs in needed_words(pattern):
                whole = [need.words for need in needs if need.whole]
                pieces = tuple(piece for need in needs if not need.whole for piece in _quickest(need.words))
                entry = _Entry(number, tuple(whole[1:]), pieces)
                for word in whole[0] if whole else ():
                    self._by_word.setdefault(word, []).append(entry)
                if not whole:
                    self._open.append(entry)
        self._words = frozenset(self._by_word)

    def possible(self, text: str, words: Set[str]) -> Sequence[int]:
        """The numbers, in order, of those that may match: `text` is a sentence `screens.lowered`, `words` its `words_of`."""
        found: set[int] = set()
        entries = self._open.copy()
        for word in self._words & words:
            entries += self._by_word[word]
        has = text.__contains__
        for number, whole, pieces in entries:
            if number in found:
                continue
            for needed in whole:
                if needed.isdisjoint(words):
                    break
            else:
                for some in pieces:
                    if not any(map(has, some)):
                        break
                else:
                    found.add(number)
        return sorted(found)


class Alternatives:
    """A pattern like `before(?:one|another)`, of which only those alternatives are looked for that may match.

    `each` has one for each, for `PatternWords` to tell whether it may. Raises `ValueError` for another form.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._every = pattern
        self.each: Final = tuple(_each(pattern.pattern))

    def finditer(self, text: str, possible: Sequence[int]) -> Iterator[re.Match[str]]:
        """The matches in a text in which no others than those with the numbers `possible` can match."""
        alone = [_compiled(self.each[number], self._every.flags) for number in possible]
        found = [pattern for pattern in alone if pattern.search(text)] if len(alone) > 1 else alone
        if not found:
            return iter(())
        return (found[0] if len(found) == 1 else self._every).finditer(text)


def _each(expression: str) -> Iterator[str]:
    """The alternatives in the group that an expression ends with, each behind what precedes it."""
    depth, end, cuts = 0, 0, [0]
    for match in _SYNTAX.finditer(expression):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth == 1 and match[0] == "(":
            cuts = [match.start() + 2]
        elif depth == 1 and match[0] == "|":
            cuts.append(match.start())
        elif depth == 0 and match[0] == ")":
            end = match.start()
    before = expression[: cuts[0] - 2]
    if expression[len(before) : cuts[0] + 1] != "(?:" or end != len(expression) - 1:
        raise ValueError(f"{expression[:80]!r} does not end with a group of alternatives")
    for start, stop in pairwise([*cuts, end]):
        yield f"{before}(?:{expression[start + 1 : stop]})"


@cache
def _compiled(expression: str, flags: int) -> re.Pattern[str]:
    return re.compile(expression, flags)


def _quickest(pieces: Set[str]) -> Iterator[tuple[str, ...]]:
    """The pieces, and before them their first letters where these are few."""
    first = {piece[:_FIRST] for piece in pieces}
    if 2 * len(first) < len(pieces):
        yield tuple(sorted(first))
    yield tuple(sorted(pieces))
