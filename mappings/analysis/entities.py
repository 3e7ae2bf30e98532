"""Mentions of entities in a text: a dictionary tagger over names and their synonyms.

A mention has no letter or digit right before or after it, and of mentions that overlap the longest counts ("heart
failure" in "congestive heart failure" does not). Case does not matter, except for a short form in capitals ("ALS",
"TB"), which counts only in that spelling. A name's plural in "s" counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import ahocorasick

from mappings.analysis.lexicon import rows, rows_of
from mappings.analysis.words import lower
from mappings.errors import InvalidInput

Lexicon = Mapping[str, tuple[str, ...]]
"""Entity -> the other names under which texts mention it."""

_SHORT_FORM: Final = 6
"""A name in capitals of at most this many characters is a short form."""


class Mention(NamedTuple):
    """`text[start:end]` mentions `entity`."""

    start: int
    end: int
    entity: str


class Tagger:
    """Finds the mentions of a lexicon's entities. A name that several entities share belongs to the first."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._small = ahocorasick.Automaton()
        self._cased = ahocorasick.Automaton()
        for entity, others in lexicon.items():
            for name in (entity, *others):
                self._add(name.strip(), entity)
        for automaton in (self._small, self._cased):
            automaton.make_automaton()

    def _add(self, name: str, entity: str) -> None:
        if _is_short_form(name):
            if name not in self._cased:
                self._cased.add_word(name, (len(name), entity))
            return
        small = lower(name)
        for form in (small, f"{small}s") if small[-1:].isalpha() and not small.endswith("s") else (small,):
            if form and form not in self._small:
                self._small.add_word(form, (len(form), entity))

    def mentions(self, text: str) -> list[Mention]:
        """The mentions in `text`, in order, none overlapping."""
        found = [*_found(self._small, text, lower(text)), *_found(self._cased, text, text)]
        kept: list[Mention] = []
        for mention in sorted(found, key=lambda item: (item.start - item.end, item.start)):
            if all(mention.end <= other.start or mention.start >= other.end for other in kept):
                kept.append(mention)
        return sorted(kept)


def _found(automaton: ahocorasick.Automaton, text: str, searched: str) -> Iterator[Mention]:
    if not len(automaton):
        return
    for last, (length, entity) in automaton.iter(searched):
        start, end = last + 1 - length, last + 1
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            yield Mention(start, end, entity)


def _is_short_form(name: str) -> bool:
    return len(name) <= _SHORT_FORM and name.isupper()


@cache
def conditions() -> Lexicon:
    """Our own lexicon of common conditions and symptoms."""
    return {row[0]: tuple(filter(None, "|".join(row[1:]).split("|"))) for row in rows("conditions")}


def read_lexicon(path: Path) -> Lexicon:
    """A lexicon in the format of ours: name, TAB, other names separated by `|`; `#` starts a comment line.

    Raises `InvalidInput` with file and line.
    """
    found: dict[str, tuple[str, ...]] = {}
    for number, row in rows_of(path):
        if len(row) > 2 or not row[0]:
            raise InvalidInput(
                f"{path.name}, line {number}: a line must be a name, a tab, and other names separated by |",
                field=path.name,
            )
        others = row[1].split("|") if len(row) == 2 else []
        found[row[0]] = (*found.get(row[0], ()), *(name.strip() for name in others if name.strip()))
    if not found:
        raise InvalidInput(f"{path.name} contains no entity; a line is a name, a tab, and other names", field=path.name)
    return found


def merged(lexicons: Iterable[Lexicon]) -> Lexicon:
    """All entities of several lexicons, each with all its names."""
    found: dict[str, tuple[str, ...]] = {}
    for lexicon in lexicons:
        for entity, others in lexicon.items():
            found[entity] = tuple(dict.fromkeys((*found.get(entity, ()), *others)))
    return found
