"""The cues of `lexicons/negation.tsv`: where a sentence rules out, doubts, or only seems to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from mappings.analysis.lexicon import rows

KINDS: Final = ("before", "after", "either", "doubt-before", "doubt-after", "pseudo", "end", "keep", "relative")
_REPEAT: Final = 3
_NOT: Final = r"(?:\bnot\b|(?<=[a-z])n['’]t\b)"
_NUMBERED: Final = re.compile(r"\bno\.? ?\d", re.IGNORECASE)


class Cue(NamedTuple):
    """A cue at the characters `start:end` of a sentence; `kind` is one of `KINDS`."""

    start: int
    end: int
    kind: str


def cues(sentence: str) -> list[Cue]:
    """The cues of `sentence` in order and disjoint: where two overlap, the longer one counts."""
    found = [cue for kind in KINDS for cue in _matches(sentence, kind)]
    found += [Cue(*match.span(), "pseudo") for match in _NUMBERED.finditer(sentence)]
    found.sort(key=lambda cue: (cue.start - cue.end, cue.start, KINDS.index(cue.kind)))
    taken: list[Cue] = []
    for cue in found:
        if all(cue.end <= other.start or other.end <= cue.start for other in taken):
            taken.append(cue)
    return sorted(taken)


def _matches(sentence: str, kind: str) -> Iterator[Cue]:
    for match in _pattern(kind).finditer(sentence):
        yield Cue(*match.span(), kind)


@cache
def words(name: str) -> re.Pattern[str]:
    """What finds one word or phrase of the class `:name`."""
    return re.compile(rf"\b(?:{_alternatives(name)})(?!\w)", re.IGNORECASE)


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """All phrases of a kind, the longest first, so that a search takes the longest at each place."""
    phrases = sorted(_lexicon()[kind], key=lambda phrase: (-len(phrase.split()), -len(phrase), phrase))
    return re.compile(rf"(?:{'|'.join(map(_phrase, phrases))})(?!\w)", re.IGNORECASE)


def _phrase(phrase: str) -> str:
    *first, last = phrase.split()
    return "".join(_part(word) if word.endswith("*") else rf"{_part(word)}\s+" for word in first) + _part(last)


def _part(word: str) -> str:
    if word == "not":
        return _NOT
    if word.endswith("*"):
        return rf"(?:\b(?:{_alternatives(word[1:-2])})\s+){{0,{_REPEAT}}}"
    if word.startswith("<"):
        return rf"\b(?:{_alternatives(word[1:-1])})\b"
    return rf"(?<!\w){re.escape(word)}(?!\w)"


@cache
def _alternatives(name: str) -> str:
    phrases = sorted(_lexicon()[f":{name}"], key=lambda phrase: (-len(phrase), phrase))
    return "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)


@cache
def _lexicon() -> dict[str, tuple[str, ...]]:
    return {kind: tuple(phrases.split("|")) for kind, phrases in rows("negation")}
