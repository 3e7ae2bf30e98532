"""Cues that are no fixed phrases: years, ages, months, "polyp v. stone", double negation, and a relative's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mappings.analysis.mentions.cues import Cue, CueKind
from mappings.analysis.mentions.screens import ScreenedPattern, words_of

HISTORY: Final = "history"
"""What a cue says that makes a mention historical unless it is a chronic condition."""

_YEAR_NUMBER: Final = r"(?:19[3-9][0-9]|20[0-4][0-9])"
_YEARS: Final = [f"{year}{plural}" for year in range(1930, 2050) for plural in ("", "s")]
_YEAR: Final = ScreenedPattern(
    rf"\b(?:in|around|circa|back in)\s+(?:(?:early|late|mid|[a-z]{{3,9}})\s+(?:of\s+)?)?{_YEAR_NUMBER}s?\b",
    _YEARS,
)
_YEAR_OF: Final = ScreenedPattern(
    rf"(?<=[A-Za-z)]\s){_YEAR_NUMBER}(?=\s+(?:for|with|w/|due to|after|complicated)(?!\w))", _YEARS
)
_NO_YEAR_OF: Final = re.compile(r"\b(?:since|from|until|to|of)\s$", re.I)
_MONTHS: Final = (
    "January|February|March|April|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
_MONTH: Final = ScreenedPattern(
    rf"\b(?:in|last|back in|(?:early|late) in)\s+(?:{_MONTHS})\b",
    _MONTHS.lower().split("|"),
    re.NOFLAG,
)
_AGE: Final = ScreenedPattern(r"\b(?:at\s+)?(?:age|aged)\s+(?:of\s+)?\d{1,2}\b", ("age", "aged"))
_VERSUS: Final = ScreenedPattern(r"(?<=\w\s)v\.?(?=\s[a-z]{3})", ("v",), re.NOFLAG)
_OVER: Final = re.compile(r">(?<=[A-Za-z]{3}\s>)(?=\s[A-Za-z]{3})")
_TAKES: Final = ScreenedPattern(
    r"[,;]\s*(?:(?:and|is|was|now|currently|still|all|both|on)\s+){0,3}on\s(?!and off\b|exam|\w+day\b)|"
    r"\band\s+(?:is\s+|now\s+)?on\s",
    ("on",),
)
_NOT_WITHOUT: Final = ScreenedPattern(
    r"\b(?:cannot|can['’]?t|could not|couldn['’]t|unable to|not able to|never|does not|doesn['’]t|did not|didn['’]t)\b"
    r"[^,.;:]{1,60}?\b(?P<cue>(?:without|w/o)\s)(?!difficulty)",
    ("without", "o"),
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
        relatives = tuple(relatives)
        parts = [max(words_of(relative), key=len) for relative in relatives]
        words = "|".join(sorted(map(re.escape, relatives), key=lambda word: (-len(word), word)))
        whose = r"(?:\w+\s+with\s+)?(?:(?:his|her|their|the|a|an)\s+)?(?:\w+\s+)?"
        self._who = ScreenedPattern(
            rf"\b{whose}(?:{words}),?\s+who\s+(?:is|was|has|had|takes|took|uses|suffers|lives with|died|carries)\b"
            r"(?!\s+(?:here|present|at\s+bedside))",
            parts,
        )
        prepositions = r"by|to|from|with|of|after|over|about|through|during"
        self._possessive = ScreenedPattern(rf"\b(?:{prepositions})\s+(?:his|her|their|the)\s+(?:{words})['’]s\b", parts)
        self._owner = ScreenedPattern(
            rf"\b(?:is|are|was|were|be)\s+(?:his|her|their|the)\s+(?:{words})['’]s?(?=[\s,.;)]|$)", parts
        )

        screened = (*(pattern for pattern, _ in _PATTERNS), _NOT_WITHOUT, _YEAR_OF, self._who)
        self._screen = frozenset(word for pattern in screened for word in pattern.words)

    def find(self, sentence: str, words: Sequence[str]) -> Iterator[Cue]:
        """The cues of a sentence in no order; they can overlap. `words` is `words_of(sentence)`."""
        if ">" in sentence:
            for match in _OVER.finditer(sentence):
                yield Cue(*match.span(), "either", "uncertain")
        if self._screen.isdisjoint(words):
            return
        for pattern, kind in _PATTERNS:
            for match in pattern.find(sentence, words):
                yield Cue(*match.span(), *kind)
        for match in _NOT_WITHOUT.find(sentence, words):
            yield Cue(*match.span("cue"), "pseudo")
        for match in _YEAR_OF.find(sentence, words):
            if not _NO_YEAR_OF.search(sentence, max(0, match.start() - 8), match.start()):
                yield Cue(*match.span(), "clause-either", HISTORY)
        yield from self._of_family(sentence, words)

    def _of_family(self, sentence: str, words: Sequence[str]) -> Iterator[Cue]:
        if "who" in words:
            for match in self._who.find(sentence, words):
                yield Cue(*match.span(), "clause-before", "family")
        if "'" in sentence or "’" in sentence:
            for match in self._possessive.find(sentence, words):
                yield Cue(*match.span(), "clause-before", "family")
            for match in self._owner.find(sentence, words):
                yield Cue(*match.span(), "clause-after", "family")
