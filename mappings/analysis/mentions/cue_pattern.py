"""Cues that are no fixed phrases, found by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
            group = "cue" if "cue" in self.pattern.groupindex else 0
            for match in self.pattern.finditer(sentence):
                yield Cue(*match.span(group), *self.kind)
