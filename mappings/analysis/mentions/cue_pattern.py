"""Cues that are no fixed phrases, found by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mappings.analysis.mentions.cues import Cue, CueKind
from mappings.analysis.mentions.screens import Screened


class CuePattern(NamedTuple):
    """A pattern for cues of one kind. It finds none in a sentence without one of `hints`, in lowercase.

    A cue is what the group `cue` matches, or all of the match without such a group.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: CueKind

    def find(self, screened: Screened) -> Iterator[Cue]:
        """The cues of a sentence in order."""
        if any(map(screened.text.__contains__, self.hints)):
            yield from _cues(self.pattern, self.kind, screened.sentence)


class WordPattern(NamedTuple):
    """As `CuePattern`, for sentences with one of `words`, which are in lowercase."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: CueKind

    def find(self, screened: Screened) -> Iterator[Cue]:
        """The cues of a sentence in order."""
        if not screened.said.isdisjoint(self.words):
            yield from _cues(self.pattern, self.kind, screened.sentence)


def word_pattern(words: str, pattern: re.Pattern[str], kind: CueKind) -> WordPattern:
    """`words`: with spaces between them."""
    return WordPattern(tuple(words.split()), pattern, kind)


def _cues(pattern: re.Pattern[str], kind: CueKind, sentence: str) -> Iterator[Cue]:
    group = "cue" if "cue" in pattern.groupindex else 0
    for match in pattern.finditer(sentence):
        yield Cue(*match.span(group), *kind)
