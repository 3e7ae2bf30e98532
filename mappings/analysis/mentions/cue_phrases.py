"""The phrases of cues, matched word by word: a regular expression for each of thousands takes longer to compile than to use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mappings.analysis.words import STOP_WORDS

_ANY: Final = "..."
_LAST: Final = "$"
_REPEAT: Final = 3
_MOST: Final = 3
_GAP: Final = 4
_FAR: Final = 1_000
_TOKEN: Final = re.compile(r"\{[^}]*\}[?*]?|\S+")
_ANY_WORD: Final = re.compile(r"\s+[^\s,.;:()\[\]]+")
_END_OF_PART: Final = re.compile(r"\s*(?:[.,;:)\]]|$|\s[-–—]\s)")
_NEXT: Final = re.compile(r"\s+(\w*)")
_SPACE: Final = re.compile(r"\s+")
_NOT: Final = re.compile(r"(?:\bnot|(?<=[a-z])n['’]t)\b")
_RUN: Final = re.compile(r"\w*")
_FIRST_RUN: Final = re.compile(r"\w+")


class _Part(NamedTuple):
    """What a token of a phrase stands for: one of `choices`, by the run of letters and digits it starts with.

    It is there at least `least` and at most `most` times. A `gap` and the `last` of a part have no choices.
    """

    choices: Mapping[str, Sequence[Sequence[str]]]
    least: int = 1
    most: int = 1
    whole: bool = True
    gap: bool = False
    last: bool = False
    runs: frozenset[str] = frozenset()
    """The first run of letters and digits of each choice, "" for one without any."""
    needed: frozenset[str] = frozenset()
    """Words of which one is in every sentence with this part; none where that cannot be told."""
    only: str = ""
    """The one word that the part stands for, once; "" for others."""
    reach: int = _FAR
    """How many characters it has at most."""


class CuePhrases:
    """Prepares phrases. `classes`: the words and phrases of each class `<name>`."""

    def __init__(self, classes: Mapping[str, Iterable[str]]) -> None:
        self._classes = {name: tuple(words) for name, words in classes.items()}
        self._parts: dict[str, _Part] = {}

    def phrase(self, text: str) -> CuePhrase:
        """A phrase that starts with a word. Beside words it has classes, `{one,of several}`, `...` and `$` (`assertion.tsv`)."""
        first, *more = tokens(text)
        return CuePhrase(first.lower(), tuple(self._parts.get(token) or self._part(token) for token in more))

    def choices(self, token: str) -> Sequence[str]:
        """The words and phrases that a token of a phrase stands for."""
        if token.startswith("<"):
            return self._classes[token.strip("<>*?")]
        return token.rstrip("?*").strip("{}").split(",") if token.startswith("{") else (token,)

    def _part(self, token: str) -> _Part:
        if token in (_ANY, _LAST):
            found = _Part({}, gap=token == _ANY, last=token == _LAST, reach=_FAR if token == _ANY else 0)
        else:
            by_run: dict[str, list[list[str]]] = {}
            for words in sorted(self.choices(token), key=lambda words: (-len(words), words)):
                by_run.setdefault(_run(words.lower().lstrip()), []).append(words.lower().split())
            least, most = 1, 1
            if token[0] in "<{" and token[-1] in "*?":
                least, most = 0, _REPEAT if token[-1] == "*" else 1
            runs = frozenset(_first_run(words.lower()) for words in self.choices(token))
            needed = _rarest(self.choices(token)) if least else frozenset()
            only = "" if token[0] in "<{" else token.lower()
            reach = most * (1 + max(map(len, self.choices(token))))
            found = _Part(by_run, least, most, token[0] != "<", runs=runs, needed=needed, only=only, reach=reach)
        self._parts[token] = found
        return found


class CuePhrase:
    """A phrase of a cue: its first word and what follows.

    `needed` has sets of words, of each of which the phrase contains one, to tell without matching it that it is not in a
    sentence; the set of the rarest words comes first. It has no more than `reach` characters, if spaces are single.
    """

    __slots__ = ("_first", "_parts", "_plain", "needed", "reach")

    def __init__(self, first: str, parts: tuple[_Part, ...]) -> None:
        self._first, self._parts = first, parts
        self.reach = len(first) + sum(part.reach for part in parts)
        words = [part.only for part in parts]
        self._plain = " ".join((first, *words)) if all(words) and first != "not" else ""
        sets = {part.needed for part in parts if part.needed}
        self.needed = tuple(sorted(sets, key=lambda words: (len(words & STOP_WORDS), len(words), sorted(words))))[
            :_MOST
        ]

    def following(self, start: int) -> frozenset[str]:
        """The words of which one follows the first `start` characters of a phrase, with "" if none has to."""
        found: set[str] = set()
        first = _first_run(self._first[start:])
        if first:
            return frozenset([first])
        for part in self._parts:
            if part.gap:
                break
            found |= part.runs - {""}
            if part.least and part.runs and "" not in part.runs:
                return frozenset(found)
        return frozenset((*found, ""))

    def end(self, text: str, start: int) -> int:
        """Where the phrase ends that starts at `start` of a text in lowercase; -1 if none does."""
        if self._plain and text.startswith(self._plain, start):
            end = start + len(self._plain)
            return -1 if _is_word(text, start - 1) or _is_word(text, end) else end
        if self._first == "not":
            match = _NOT.match(text, start)
            return _match(self._parts, 0, text, match.end()) if match else -1
        end = start + len(self._first)
        if not text.startswith(self._first, start) or _is_word(text, start - 1) or _is_word(text, end):
            return -1
        return _match(self._parts, 0, text, end)


def tokens(phrase: str) -> list[str]:
    """The words, classes and groups of a phrase."""
    return _TOKEN.findall(phrase)


def _match(parts: tuple[_Part, ...], number: int, text: str, start: int) -> int:
    """Where the parts from `number` on end if they start at `start`, or -1."""
    if number == len(parts):
        return -1 if _is_word(text, start) else start
    part = parts[number]
    if part.gap:
        return _after_gap(parts, number, text, start)
    if part.last:
        return _match(parts, number + 1, text, start) if _END_OF_PART.match(text, start) else -1
    return _repeated(parts, number, text, start, 0)


def _after_gap(parts: tuple[_Part, ...], number: int, text: str, start: int) -> int:
    """As `_match`, where as few words as possible precede the part after `number`."""
    for _ in range(_GAP):
        end = _match(parts, number + 1, text, start)
        if end >= 0:
            return end
        word = _ANY_WORD.match(text, start)
        if not word:
            return -1
        start = word.end()
    return _match(parts, number + 1, text, start)


def _repeated(parts: tuple[_Part, ...], number: int, text: str, start: int, times: int) -> int:
    """As `_match`, where the part `number` has been there `times` already, and is there again if it can be."""
    part = parts[number]
    if times < part.most:
        for end in _ends(part, text, start):
            found = _repeated(parts, number, text, end, times + 1)
            if found >= 0:
                return found
    return _match(parts, number + 1, text, start) if times >= part.least else -1


def _ends(part: _Part, text: str, start: int) -> Iterator[int]:
    """The ends of the choices of a part that follow a space at `start`, the longest first."""
    following = _NEXT.match(text, start)
    chosen = part.choices.get(following[1]) if following else None
    if not following or not chosen:
        return
    first = following.start(1)
    for words in chosen:
        end = _end_of(words, text, first)
        if end >= 0 and (
            not _is_word(text, end)
            if part.whole
            else _is_word(text, first) and _is_word(text, end - 1) != _is_word(text, end)
        ):
            yield end


def _end_of(words: Sequence[str], text: str, start: int) -> int:
    """Where `words` with spaces between them end if they start at `start`, or -1."""
    for number, word in enumerate(words):
        if number:
            space = _SPACE.match(text, start)
            if not space:
                return -1
            start = space.end()
        if not text.startswith(word, start):
            return -1
        start += len(word)
    return start


def _is_word(text: str, place: int) -> bool:
    """Whether the character at `place` is one of a word; there is none before the start and after the end."""
    letter = text[place : place + 1] if place >= 0 else ""
    return letter.isalnum() or letter == "_"


def _rarest(choices: Iterable[str]) -> frozenset[str]:
    """Words of which one is in every sentence with one of the choices, the rarest of each; none where that cannot be told."""
    found = [[word for word in _FIRST_RUN.findall(choice.lower()) if "_" not in word] for choice in choices]
    return frozenset(min(words, key=_commonness) for words in found) if all(found) else frozenset()


def _commonness(word: str) -> tuple[bool, int, str]:
    return word in STOP_WORDS, -len(word), word


def _first_run(text: str) -> str:
    """The first letters and digits of `text`, or ""."""
    match = _FIRST_RUN.search(text)
    return match[0] if match else ""


def _run(text: str) -> str:
    """The letters and digits that `text` starts with."""
    match = _RUN.match(text)
    return match[0] if match else ""
