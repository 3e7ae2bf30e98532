"""Cues that are no fixed phrases, found by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mappings.analysis.mentions.cues import Cue, CueKind


class CuePattern(NamedTuple):
    """A pattern for cues of one kind. It is tried only in a sentence that contains one of `hints`, in lowercase.

    A cue is what the group `cue` matches, or all of the match without such a group.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: CueKind

    def find(self, sentence: str, lowered: str) -> Iterator[Cue]:
        """The cues of a sentence in order."""
        if any(map(lowered.__contains__, self.hints)):
            for match in self.pattern.finditer(sentence):
                yield Cue(*match.span(_cue_group(self.pattern)), *self.kind)


class WordPattern(NamedTuple):
    """A pattern that is tried only in a sentence with one of `words` and, if there are any, one of `also`; all in lowercase."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: CueKind
    also: frozenset[str] = frozenset()


def word_pattern(words: str, pattern: re.Pattern[str], kind: CueKind, also: str = "") -> WordPattern:
    """`words` and `also`: with spaces between them."""
    return WordPattern(tuple(words.split()), pattern, kind, frozenset(also.split()))


class WordPatterns:
    """Patterns by the words of which a sentence needs one: most sentences have none of them."""

    def __init__(self, patterns: Iterable[WordPattern]) -> None:
        self._by_word: dict[str, list[WordPattern]] = {}
        for pattern in patterns:
            for word in pattern.words:
                self._by_word.setdefault(word, []).append(pattern)

    def find(self, sentence: str, words: Iterable[str]) -> Iterator[Cue]:
        """The cues of a sentence that has `words`, in no order."""
        met = self._by_word.keys() & words
        if met:
            for _, pattern, kind, also in {id(item): item for word in met for item in self._by_word[word]}.values():
                if also and also.isdisjoint(words):
                    continue
                yield from (Cue(*match.span(_cue_group(pattern)), *kind) for match in pattern.finditer(sentence))


def _cue_group(pattern: re.Pattern[str]) -> str | int:
    return "cue" if "cue" in pattern.groupindex else 0
