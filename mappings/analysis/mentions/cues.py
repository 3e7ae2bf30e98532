"""The cues of `lexicons/negation.tsv`: words with which a sentence rules out or doubts, or only seems to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from mappings.analysis.lexicon import rows

KINDS: Final = (
    "before",
    "after",
    "either",
    "doubt-before",
    "doubt-after",
    "doubt-either",
    "pseudo",
    "end",
    "keep",
    "relative",
)
_REPEAT: Final = 3
_NOT: Final = r"(?:\bnot|(?<=[a-z])n['’]t)\b"
_WORD: Final = re.compile(r"\w+?(?=n['’]t\b)|n['’]t\b|\b[wrs]/[op]\b|\w+", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"\bno\.? ?\d", re.IGNORECASE)


class Cue(NamedTuple):
    """A cue at the characters `start:end` of a sentence; `kind` is one of `KINDS`."""

    start: int
    end: int
    kind: str


def cues(sentence: str) -> list[Cue]:
    """The cues of `sentence`, in order and disjoint: of two that overlap, the longer one counts."""
    found = [cue for match in _WORD.finditer(sentence) for cue in _starting_at(sentence, match)]
    found += [Cue(*match.span(), "pseudo") for match in _NUMBERED.finditer(sentence)]
    found.sort(key=lambda cue: (cue.start - cue.end, cue.start, KINDS.index(cue.kind)))
    kept: list[Cue] = []
    for cue in found:
        if all(cue.end <= other.start or other.end <= cue.start for other in kept):
            kept.append(cue)
    return sorted(kept)


def _starting_at(sentence: str, word: re.Match[str]) -> Iterator[Cue]:
    """The longest cue of each kind that starts with `word`."""
    first = "not" if word[0][0] in "nN" and word[0][1:2] in "'’" else word[0].lower()
    for kind, pattern in _patterns(first) if first in _by_first_word() else ():
        match = pattern.match(sentence, word.start())
        if match:
            yield Cue(*match.span(), kind)


@cache
def words(name: str) -> re.Pattern[str]:
    """A pattern for the words and phrases of the class `:name`."""
    return re.compile(rf"\b(?:{_alternatives(name)})(?!\w)", re.IGNORECASE)


@cache
def _patterns(first: str) -> list[tuple[str, re.Pattern[str]]]:
    """For each kind a pattern for its phrases that start with the word `first`; the longest one matches."""
    return [
        (kind, re.compile(rf"(?:{'|'.join(map(_phrase, phrases))})(?!\w)", re.IGNORECASE))
        for kind, phrases in _by_first_word()[first].items()
    ]


@cache
def _by_first_word() -> dict[str, dict[str, list[str]]]:
    """First word -> kind -> phrases, those with most words first. Every phrase starts with a plain word."""
    found: dict[str, dict[str, list[str]]] = {}
    for kind in KINDS:
        for phrase in sorted(_lexicon()[kind], key=lambda phrase: (-len(phrase.split()), -len(phrase), phrase)):
            found.setdefault(phrase.split()[0], {}).setdefault(kind, []).append(phrase)
    return found


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
