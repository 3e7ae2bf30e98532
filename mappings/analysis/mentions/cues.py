"""The cues of `lexicons/negation.tsv`: words with which a sentence rules out or doubts, or only seems to.

`CueLexicon` finds the cues of any such table, so that readings with more kinds of cues build on these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
_RANKS: Final = {kind: rank for rank, kind in enumerate(KINDS)}
_REPEAT: Final = 3
_GAP: Final = 4
_ANY: Final = "..."
_LAST: Final = "$"
_ANY_WORD: Final = r"[^\s,.;:()\[\]]+"
_END_OF_PART: Final = r"(?=\s*(?:[.,;:)\]]|$|\s[-–—]\s))"
_TOKEN: Final = re.compile(r"\{[^}]*\}[?*]?|\S+")
_NOT: Final = r"(?:\bnot|(?<=[a-z])n['’]t)\b"
_WORD: Final = re.compile(r"\w+?(?=n['’]t\b)|n['’]t\b|\b[wrs]/[op]\b|\b[hc]/o\b|\w+", re.IGNORECASE)
_PLAIN_WORD: Final = re.compile(r"\w+")
"""As `_WORD` where there is neither an apostrophe nor a slash, and faster."""
_NUMBERED: Final = re.compile(r"\bno\.? ?\d", re.IGNORECASE)


class Cue(NamedTuple):
    """A cue at the characters `start:end` of a sentence; `kind` is one of `KINDS`, or another of its lexicon.

    `says` is what the cue states where its kind alone does not tell, such as "hypothetical".
    """

    start: int
    end: int
    kind: str
    says: str = ""


class CueKind(NamedTuple):
    """What the phrases of one entry of a `CueLexicon` are: fields as in `Cue`."""

    kind: str
    says: str = ""


class _FirstWord(NamedTuple):
    """The patterns of the cues that start with a word: of any of them, which most words do not match, and of each kind."""

    any: re.Pattern[str]
    kinds: list[tuple[CueKind, re.Pattern[str]]]


class CueLexicon:
    """An index of cues by first word. `phrases`: their phrases by kind; `classes`: the words of each class `<name>`."""

    def __init__(self, phrases: Mapping[CueKind, Iterable[str]], classes: Mapping[str, Iterable[str]]) -> None:
        self._classes = {name: _joined(words) for name, words in classes.items()}
        self._phrases = _by_first_word(phrases)
        self._patterns: dict[str, _FirstWord] = {}

    def find(self, sentence: str) -> list[Cue]:
        """The cues of `sentence`, in order and disjoint: of two that overlap, the longer one counts."""
        return disjoint(self.find_all(sentence))

    def find_all(self, sentence: str) -> list[Cue]:
        """The cues of `sentence` in no order; they can overlap."""
        phrases = self._phrases
        found: list[Cue] = []
        plain = "/" not in sentence and "'" not in sentence and "’" not in sentence
        for match in (_PLAIN_WORD if plain else _WORD).finditer(sentence):
            word = match[0].lower()
            if word[0] == "n" and word[1:2] in ("'", "’"):
                word = "not"
            if word in phrases:
                starting = self._patterns.get(word) or self._compile(word)
                if starting.any.match(sentence, match.start()):
                    found.extend(_starting_at(sentence, match.start(), starting.kinds))
        found += [Cue(*match.span(), "pseudo") for match in _NUMBERED.finditer(sentence)]
        return found

    def _compile(self, first: str) -> _FirstWord:
        """The patterns of the cues that start with a word, when it is first met: most words never are."""
        alternatives = {kind: "|".join(map(self._phrase, found)) for kind, found in self._phrases[first].items()}
        kinds = [(kind, re.compile(rf"(?:{pattern})(?!\w)", re.IGNORECASE)) for kind, pattern in alternatives.items()]
        compiled = _FirstWord(re.compile("|".join(pattern.pattern for _, pattern in kinds), re.IGNORECASE), kinds)
        self._patterns[first] = compiled
        return compiled

    def words(self, name: str) -> re.Pattern[str]:
        """A pattern for the words and phrases of the class `<name>`."""
        return re.compile(rf"\b(?:{self._classes[name]})(?!\w)", re.IGNORECASE)

    def _phrase(self, phrase: str) -> str:
        """The pattern of a phrase. Beside words it has classes, `{one,of several}`, `...` and `$` (see `assertion.tsv`)."""
        first, *more = tokens(phrase)
        return self._part(first) + "".join(map(self._following, more))

    def _following(self, token: str) -> str:
        """The pattern of a token after the first, with the space before it."""
        if token == _ANY:
            return rf"(?:\s+{_ANY_WORD}){{0,{_GAP}}}?"
        if token == _LAST:
            return _END_OF_PART
        if token[0] in "<{" and token[-1] in "*?":
            return rf"(?:\s+{self._part(token[:-1])}){{0,{_REPEAT if token[-1] == '*' else 1}}}"
        return rf"\s+{self._part(token)}"

    def _part(self, word: str) -> str:
        if word == "not":
            return _NOT
        if word.startswith("<"):
            return rf"\b(?:{self._classes[word[1:-1]]})\b"
        if word.startswith("{"):
            return rf"(?<!\w)(?:{_joined(word[1:-1].split(','))})(?!\w)"
        return rf"(?<!\w){re.escape(word)}(?!\w)"


def tokens(phrase: str) -> list[str]:
    """The words, classes and groups of a phrase."""
    return _TOKEN.findall(phrase)


def disjoint(found: list[Cue]) -> list[Cue]:
    """`found` in order, without those that overlap a longer one; of two equally long, one that says something counts."""
    if len(found) < 2:
        return found
    found.sort(key=lambda cue: (cue.start - cue.end, cue.start, not cue.says, _RANKS.get(cue.kind, -1)))
    kept: list[Cue] = []
    for cue in found:
        if all(cue.end <= other.start or other.end <= cue.start for other in kept):
            kept.append(cue)
    return sorted(kept)


def cues(sentence: str) -> list[Cue]:
    """The cues of negation and doubt in `sentence`, in order and disjoint."""
    return _negation().find(sentence)


@cache
def words(name: str) -> re.Pattern[str]:
    """A pattern for the words and phrases of the class `:name` of `negation.tsv`."""
    return _negation().words(name)


def negation_phrases() -> dict[CueKind, tuple[str, ...]]:
    """The phrases of `negation.tsv` by kind."""
    return {CueKind(kind): tuple(phrases.split("|")) for kind, phrases in rows("negation") if not kind.startswith(":")}


def negation_classes() -> dict[str, tuple[str, ...]]:
    """The words of each class of `negation.tsv`."""
    return {kind[1:]: tuple(phrases.split("|")) for kind, phrases in rows("negation") if kind.startswith(":")}


@cache
def _negation() -> CueLexicon:
    return CueLexicon(negation_phrases(), negation_classes())


def _starting_at(sentence: str, start: int, patterns: list[tuple[CueKind, re.Pattern[str]]]) -> Iterator[Cue]:
    """The longest cue of each kind that starts at `start`."""
    for kind, pattern in patterns:
        match = pattern.match(sentence, start)
        if match:
            yield Cue(*match.span(), *kind)


def _by_first_word(phrases: Mapping[CueKind, Iterable[str]]) -> dict[str, dict[CueKind, list[str]]]:
    """First word -> kind -> phrases, those with most words first. Every phrase starts with a plain word."""
    found: dict[str, dict[CueKind, list[str]]] = {}
    for kind in sorted(phrases, key=lambda kind: _RANKS.get(kind.kind, len(KINDS))):
        for phrase in sorted(phrases[kind], key=lambda phrase: (-len(tokens(phrase)), -len(phrase), phrase)):
            found.setdefault(_first(phrase), {}).setdefault(kind, []).append(phrase)
    return found


def _first(phrase: str) -> str:
    """The first word as `CueLexicon.find` cuts it: "vs." is found by "vs"."""
    match = _WORD.match(phrase)
    return match[0].lower() if match else phrase.split()[0]


def _joined(words: Iterable[str]) -> str:
    phrases = sorted(words, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
