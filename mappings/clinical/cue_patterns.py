"""Cues that are no fixed phrases: years, ages, months, "polyp v. stone", double negation, and a relative's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mappings.analysis.mentions.cues import Cue, CueKind

HISTORY: Final = "history"
"""What a cue says that makes a mention historical unless it is a chronic condition."""

_YEAR_NUMBER: Final = r"(?:19[3-9]\d|20[0-4]\d)"
_YEAR: Final = re.compile(
    rf"\b(?:in|around|circa|back in)\s+(?:(?:early|late|mid|[a-z]{{3,9}})\s+(?:of\s+)?)?{_YEAR_NUMBER}s?\b", re.I
)
_YEAR_OF: Final = re.compile(
    rf"(?<=[A-Za-z)]\s){_YEAR_NUMBER}(?=\s+(?:for|with|w/|due to|after|complicated)(?!\w))", re.I
)
_NO_YEAR_OF: Final = re.compile(r"\b(?:since|from|until|to|of)\s$", re.I)
_MONTH: Final = re.compile(
    r"\b(?:in|last|back in|(?:early|late) in)\s+(?:January|February|March|April|June|July|August|September|October|November|"
    r"December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)
_AGE: Final = re.compile(r"\b(?:at\s+)?(?:age|aged)\s+(?:of\s+)?\d{1,2}\b", re.I)
_VERSUS: Final = re.compile(r"(?<=\w\s)v\.?(?=\s[a-z]{3})|(?<=[A-Za-z]{3}\s)>(?=\s[A-Za-z]{3})")
_TAKES: Final = re.compile(
    r"[,;]\s*(?:(?:and|is|was|now|currently|still|all|both|on)\s+){0,3}on\s(?!and off\b|exam|\w+day\b)|"
    r"\band\s+(?:is\s+|now\s+)?on\s",
    re.I,
)
_NOT_WITHOUT: Final = re.compile(
    r"\b(?:cannot|can['’]?t|could not|couldn['’]t|unable to|not able to|never|does not|doesn['’]t|did not|didn['’]t)\b"
    r"[^,.;:]{1,60}?\b(?P<cue>(?:without|w/o)\s)(?!difficulty)",
    re.I,
)
_PATTERNS: Final = (
    (_YEAR, CueKind("clause-either", HISTORY)),
    (_MONTH, CueKind("clause-after", HISTORY)),
    (_AGE, CueKind("clause-after", HISTORY)),
    (_VERSUS, CueKind("either", "uncertain")),
    (_TAKES, CueKind("end")),
)


class CuePatterns:
    """Finds cues by patterns. `relatives`: the words for people other than the patient."""

    def __init__(self, relatives: Iterable[str]) -> None:
        words = "|".join(sorted(map(re.escape, relatives), key=lambda word: (-len(word), word)))
        whose = r"(?:\w+\s+with\s+)?(?:(?:his|her|their|the|a|an)\s+)?(?:\w+\s+)?"
        self._who = re.compile(
            rf"\b{whose}(?:{words}),?\s+who\s+(?:is|was|has|had|takes|took|uses|suffers|lives with|died|carries)\b"
            r"(?!\s+(?:here|present|at\s+bedside))",
            re.I,
        )
        prepositions = r"by|to|from|with|of|after|over|about|through|during"
        self._possessive = re.compile(rf"\b(?:{prepositions})\s+(?:his|her|their|the)\s+(?:{words})['’]s\b", re.I)
        self._owner = re.compile(
            rf"\b(?:is|are|was|were|be)\s+(?:his|her|their|the)\s+(?:{words})['’]s?(?=[\s,.;)]|$)", re.I
        )

    def find(self, sentence: str) -> Iterator[Cue]:
        """The cues of a sentence in no order; they can overlap."""
        for pattern, kind in _PATTERNS:
            for match in pattern.finditer(sentence):
                yield Cue(*match.span(), *kind)
        for match in _NOT_WITHOUT.finditer(sentence):
            yield Cue(*match.span("cue"), "pseudo")
        for match in _YEAR_OF.finditer(sentence):
            if not _NO_YEAR_OF.search(sentence, max(0, match.start() - 8), match.start()):
                yield Cue(*match.span(), "clause-either", HISTORY)
        for pattern in (self._who, self._possessive):
            for match in pattern.finditer(sentence):
                yield Cue(*match.span(), "clause-before", "family")
        for match in self._owner.finditer(sentence):
            yield Cue(*match.span(), "clause-after", "family")
