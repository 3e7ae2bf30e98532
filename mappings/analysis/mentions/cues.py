"""The cues of `lexicons/negation.tsv`: words with which a sentence rules out or doubts, or only seems to.

`CueLexicon` finds the cues of any such table, so that readings with more kinds of cues build on these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.cue_phrases import CuePhrase, CuePhrases, tokens
from mappings.analysis.mentions.memo import Memo
from mappings.analysis.mentions.screens import Screened

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
SILENT: Final = frozenset(["pseudo", "skip", "keep", "end", "relative", "family-end"])
"""Kinds of cues that state nothing: they only delimit what others are about."""
_RANKS: Final = {kind: rank for rank, kind in enumerate(("skip", "clause-either", "", *KINDS))}
"""Which of two cues of the same words counts, the first; other kinds stand where "" does."""
_WORD: Final = re.compile(r"\w+?(?=n['’]t\b)|n['’]t\b|\b[wrs]/[op]\b|\b[hc]/o\b|\w+")
_ODD_WORD: Final = re.compile(r"['’/](?:(?<=[nN].)[tT]|[opOP])\b")
"""What only words with an apostrophe or a slash have: all others are runs of letters and digits."""
_RUN: Final = re.compile(r"\w+")
_NOTS: Final = frozenset(["n't", "n’t"])
_NUMBERED: Final = re.compile(r"[nN][oO](?<!\w..)\.? ?\d")


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


_Phrases = list[tuple[CueKind, list[CuePhrase]]]
_Following = list[tuple[CueKind, list[tuple[CuePhrase, frozenset[str]]]]]
"""The phrases of each kind with the words of which one follows the first word, with "" if none has to."""


class _Group(NamedTuple):
    """Phrases of each kind that is not silent, and of each that is.

    A sentence with one of them has one of the words `needed`, if there are any.
    """

    stating: _Phrases
    silent: _Phrases
    needed: frozenset[str]


Places = list[tuple[int, _Group]]
"""Where words of a sentence stand with which phrases start, and those phrases."""


class _Start(dict[str, _Group | None]):
    """The phrases that start with a word, by the word that follows.

    `words` are those that can follow; `alone` has the phrases that can go on with any other.
    """

    def __init__(self, phrases: _Following) -> None:
        super().__init__()
        self._phrases = phrases
        self.words = {word for _, found in phrases for _, words in found for word in words}
        self.alone = self[""]

    def __missing__(self, word: str) -> _Group | None:
        chosen = (
            (kind, [phrase for phrase, words in phrases if word in words or "" in words])
            for kind, phrases in self._phrases
        )
        self[word] = _group([(kind, phrases) for kind, phrases in chosen if phrases])
        return self[word]

    def group(self, following: str) -> _Group | None:
        """The phrases that can go on with the word `following`."""
        return self[following] if following in self.words else self.alone


def _group(phrases: _Phrases) -> _Group | None:
    needed = [phrase.needed[0] if phrase.needed else None for _, found in phrases for phrase in found]
    sets = [words for words in needed if words]
    stating, silent = ([item for item in phrases if (item[0].kind in SILENT) == silent] for silent in (False, True))
    every: frozenset[str] = frozenset().union(*sets) if len(sets) == len(needed) else frozenset()
    return _Group(stating, silent, every) if phrases else None


class CueLexicon:
    """An index of cues by first word. `phrases`: their phrases by kind; `classes`: the words of each class `<name>`."""

    def __init__(self, phrases: Mapping[CueKind, Iterable[str]], classes: Mapping[str, Iterable[str]]) -> None:
        self._alternatives = {name: _joined(words) for name, words in classes.items()}
        self._prepared = CuePhrases(classes)
        self._phrases = _by_first_word(phrases)
        self._first = frozenset(self._phrases)
        self._starts = Memo(self._start)

    def find(self, sentence: str) -> list[Cue]:
        """The cues of `sentence`, in order and disjoint: of two that overlap, the longer one counts."""
        return disjoint([*self.find_all(Screened.of(sentence)), *numbers(sentence)])

    def find_all(self, screened: Screened) -> list[Cue]:
        """The cues of a sentence in no order; they can overlap."""
        places = self.places(screened)
        return [*self.stating(screened, places), *self.silent(screened, places)]

    def places(self, screened: Screened) -> Places:
        """Where phrases can start in a sentence."""
        odd = _ODD_WORD.search(screened.sentence)
        return list(self._odd(screened.text, screened.said)) if odd else self._plain(screened)

    def stating(self, screened: Screened, places: Places) -> list[Cue]:
        """The cues at these places that state something, in no order; they can overlap."""
        return [cue for first, group in places for cue in _longest(screened, first, group.stating)]

    def silent(self, screened: Screened, places: Places) -> list[Cue]:
        """The cues at these places that only delimit others, as `stating` gives those that state something."""
        return [cue for first, group in places for cue in _longest(screened, first, group.silent)]

    def _plain(self, screened: Screened) -> Places:
        words, said = screened.words, screened.said
        starts = {}
        for word in self._first & said:
            start = self._starts[word]
            if start.alone or not start.words.isdisjoint(said):
                starts[word] = start
        if not starts:
            return []
        found: Places = []
        letters: list[int] = []
        for place in [place for place, word in enumerate(words) if word in starts]:
            following = words[place + 1] if place + 1 < len(words) else ""
            group = starts[words[place]].group(following or next(filter(None, words[place + 1 :]), ""))
            if group and not (group.needed and group.needed.isdisjoint(said)):
                letters = letters or list(accumulate(map(len, words)))
                found.append((letters[place] - len(words[place]) + place, group))
        return found

    def _odd(self, text: str, said: Set[str]) -> Iterator[tuple[int, _Group]]:
        """As `_plain`, where "isn't" is "is" and "not", and "h/o" one word."""
        for match in _WORD.finditer(text):
            word = "not" if match[0] in _NOTS else match[0]
            if word in self._first:
                group = self._starts[word].group(_run(text, match.end()))
                if group and not (group.needed and group.needed.isdisjoint(said)):
                    yield match.start(), group

    def _start(self, word: str) -> _Start:
        """The phrases that start with `word`, prepared when it is first met: most words never are."""
        by_kind = self._phrases[word].items()
        prepared = [(kind, list(map(self._prepared.phrase, phrases))) for kind, phrases in by_kind]
        return _Start(
            [(kind, [(phrase, phrase.following(len(word))) for phrase in phrases]) for kind, phrases in prepared]
        )

    def words(self, name: str) -> re.Pattern[str]:
        """A pattern for the words and phrases of the class `<name>`."""
        return re.compile(rf"\b(?:{self._alternatives[name]})(?!\w)", re.IGNORECASE)


def _longest(screened: Screened, first: int, phrases: _Phrases) -> Iterator[Cue]:
    """The longest phrase of each kind that starts at the character `first`."""
    text, said = screened.text, screened.said
    for kind, found in phrases:
        longest = first
        for phrase in found:
            if first + phrase.reach <= longest or (phrase.needed and any(map(said.isdisjoint, phrase.needed))):
                continue
            end = phrase.end(text, first)
            if end > longest:
                longest = end
        if longest > first:
            yield Cue(first, longest, *kind)


def disjoint(found: list[Cue]) -> list[Cue]:
    """`found` in order, without those that overlap a longer one; of two equally long, one that says something counts."""
    ordered = sorted(found)
    if all(before.end <= after.start for before, after in pairwise(ordered)):
        return ordered
    found.sort(key=lambda cue: (cue.start - cue.end, cue.start, not cue.says, _RANKS.get(cue.kind, _RANKS[""])))
    kept: list[Cue] = []
    for cue in found:
        if all(cue.end <= other.start or other.end <= cue.start for other in kept):
            kept.append(cue)
    return sorted(kept)


def numbers(sentence: str) -> Iterator[Cue]:
    """What only looks like a negation: "no. 5"."""
    for match in _NUMBERED.finditer(sentence):
        yield Cue(*match.span(), "pseudo")


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


def _by_first_word(phrases: Mapping[CueKind, Iterable[str]]) -> dict[str, dict[CueKind, list[str]]]:
    """First word -> kind -> phrases, those with most words first. Every phrase starts with a plain word."""
    found: dict[str, dict[CueKind, list[str]]] = {}
    for kind in sorted(phrases, key=lambda kind: _RANKS.get(kind.kind, len(KINDS))):
        for phrase in sorted(phrases[kind], key=lambda phrase: (-len(tokens(phrase)), -len(phrase), phrase)):
            found.setdefault(_first(phrase), {}).setdefault(kind, []).append(phrase)
    return found


def _first(phrase: str) -> str:
    """The first word as `CueLexicon.find` cuts it: "vs." is found by "vs"."""
    match = _WORD.match(phrase.lower())
    return match[0] if match else phrase.split()[0]


def _run(text: str, start: int = 0) -> str:
    """The first run of letters and digits of `text[start:]`, or ""."""
    match = _RUN.search(text, start)
    return match[0] if match else ""


def _joined(words: Iterable[str]) -> str:
    phrases = sorted(words, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
