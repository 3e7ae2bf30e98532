"""Words: one analysis for both engines and for highlighting.

The rules, which are those of OpenSearch's `standard` tokenizer followed by `lowercase`, `stop` and `porter2`:

1. Text is split at the word boundaries of UAX #29. A run of letters and digits is a word ("p53", "2nd"); so are
   runs joined by an underscore, by `.`, `:` or `'` between letters ("don't", "e.g"), and by `.`, `,`, `;` or `'`
   between digits ("2.5", "1,000"). A hyphen, slash or plus splits: "IL-6" is "il", "6". Marks belong to the letter
   before them. An ideograph or a hiragana is a word of its own; a run of katakana, and one of Thai, Lao, Khmer or
   Burmese, is one word.
2. A word of more than 255 characters is split into words of 255.
3. Letters become lowercase, one by one (no final sigma). The typographic apostrophe becomes `'`, so that the stemmer
   handles "Alzheimer’s"; in OpenSearch a `mapping` character filter before the tokenizer does this.
4. The 33 English stop words of Lucene are removed and leave a gap in the positions.
5. Snowball's English stemmer, version 2 ("porter2").

Limits: emoji are not words here (nor in our indexes on OpenSearch, where they are removed first); a Hebrew `"` between
letters splits; a mark between a digit and a separator, or after a separator, splits; a character assigned after the
Unicode version of the running Python is not a letter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Set
from functools import cache
from itertools import chain
from typing import Final, NamedTuple
from unicodedata import category

import Stemmer

from mappings.analysis.unicode import MID_BOTH, MID_LETTER, MID_NUMBER, word_break

ANALYSIS_VERSION: Final = "words-3"
"""Part of an index's identity: it changes if the same document would give other terms, in any field."""

MAX_WORD: Final = 255
_STOP: Final = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS: Final = frozenset(_STOP.split())


class Token(NamedTuple):
    """An index term, the characters `start:end` that it comes from, and its position among the words of the text."""

    term: str
    start: int
    end: int
    position: int


def tokens(text: str) -> list[Token]:
    """The terms of `text` in order. Positions count from 0 and skip one for each stop word."""
    found: list[Token] = []
    position = -1
    for start, run in _placed_runs(text):
        own = _TERMS[run]
        if len(own) == 1 and run.isalnum() and run.isascii():  # as most are; the way below says the same, more slowly
            (term,) = own
            position += 1
            if term:
                found.append(Token(term, start, start + len(run), position))
            continue
        for term, (first, end) in zip(own, _places_in(run), strict=True):
            if term is not None:
                position += 1
                if term:
                    found.append(Token(term, start + first, start + end, position))
    return found


def terms(text: str) -> list[str]:
    """The terms of `text` in order, without offsets: `[token.term for token in tokens(text)]`, faster."""
    return [term for term in _each(text) if term]


def places(text: str, wanted: Set[str]) -> list[tuple[int, int]]:
    """Where `text` has one of the `wanted` terms: `(token.start, token.end)` of those tokens, faster."""
    return [
        (start + first, start + end)
        for start, run in _placed_runs(text)
        if not wanted.isdisjoint(_TERMS[run])
        for term, (first, end) in zip(_TERMS[run], _places_in(run), strict=True)
        if term in wanted
    ]


def joined_terms(text: str) -> str:
    """The terms of `text`, each between spaces: where those of a name are a part of them, the text has the name."""
    return f" {' '.join(terms(text))} "


def spaced_terms(text: str) -> list[str]:
    """The terms of `text`, each at its position; "" is at that of a stop word."""
    return [term for term in _each(text) if term is not None]


def _each(text: str) -> Iterator[str | None]:
    """The term of each word, as `_Terms` has them."""
    return chain.from_iterable(map(_TERMS.__getitem__, _runs(text)))


def _runs(text: str) -> list[str]:
    """What is between the characters that no word has: most runs are a word, perhaps with a mark at an end."""
    return _spaced(text).split() if text.isascii() else _RUN.findall(text)


def _placed_runs(text: str) -> Iterator[tuple[int, str]]:
    """The runs and where they start."""
    if not text.isascii():
        for match in _RUN.finditer(text):
            yield match.start(), match[0]
        return
    start = 0
    for run in _spaced(text).split(" "):
        if run:
            yield start, run
        start += len(run) + 1


def _spaced(text: str) -> str:
    """A text of ASCII with a space for each character that no word has; bytes are translated five times as fast as a str."""
    return text.encode("ascii").translate(_SPACED).decode("ascii")


def _places_in(run: str) -> list[tuple[int, int]]:
    """Where the words of a run start and end in it."""
    if run.isascii() and len(run) <= MAX_WORD:
        word = run.strip(_MARKS)
        if word.isalnum():
            first = run.index(word)
            return [(first, first + len(word))]
    return [*_matches(run)]


def _matches(text: str) -> Iterator[tuple[int, int]]:
    pattern = _pattern(text)
    for match in pattern.finditer(text):
        start, end = match.span()
        if end - start <= MAX_WORD:
            yield start, end
        else:
            yield from _pieces(pattern, text, start, end)


def _pieces(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    # Lucene's scanner sees at most 255 characters at a time, so a piece cannot end with the apostrophe where it was split.
    while start < end:
        match = pattern.match(text, start, min(start + MAX_WORD, end))
        if match:
            yield match.span()
        start = match.end() if match else start + 1


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII if text.isascii() else _unicode()


_ASCII: Final = re.compile(
    r"\w+(?:(?:[.:'](?<=[A-Za-z].)(?=[A-Za-z])|[.,;'](?<=[0-9].)(?=[0-9]))\w+)*",
    re.ASCII,
)


_MARKS: Final = ".:',;"
"""Those that can be inside a word; all other characters of ASCII but letters, digits and the underscore separate words."""

_APART: Final = "".join(
    chr(code) for code in range(128) if not (chr(code).isalnum() or chr(code) == "_" or chr(code) in _MARKS)
)
_SPACED: Final = bytes.maketrans(_APART.encode("ascii"), b" " * len(_APART))
_RUN: Final = re.compile(f"[^{re.escape(_APART)}]+")


@cache
def _unicode() -> re.Pattern[str]:
    b = word_break()
    base = f"{b.letter}{b.number}{b.joiner}"
    between_letters = f"[{MID_LETTER}{MID_BOTH}](?<=[{b.letter}{b.extend}].)(?=[{b.letter}])"
    between_numbers = f"[{MID_NUMBER}{MID_BOTH}](?<=[{b.number}].)(?=[{b.number}])"
    return re.compile(
        f"[{base}][{base}{b.extend}]*(?:(?:{between_letters}|{between_numbers})[{base}{b.extend}]+)*"
        f"|[{b.complex}][{b.complex}{b.extend}]*"
        f"|[{b.katakana}][{b.katakana}{b.extend}]*"
        f"|[{b.single}][{b.extend}]*",
        re.DOTALL,
    )


class _Terms(dict[str, tuple[str | None, ...]]):
    """Of every run seen the term of each word: a stem, "" for a stop word, None for underscores, which are no word."""

    _CAPACITY = 200_000
    _LONGEST = 40

    def __init__(self) -> None:
        super().__init__()
        self._stem = Stemmer.Stemmer("english", 0).stemWord
        self._lock = threading.Lock()  # a Snowball stemmer keeps the word it works on

    def __missing__(self, run: str) -> tuple[str | None, ...]:
        words = [run[start:end] for start, end in _places_in(run)]
        with self._lock:
            found = tuple(map(self._analyse, words))
        if len(run) <= self._LONGEST:
            if len(self) >= self._CAPACITY:
                self.clear()
            self[run] = found
        return found

    def _analyse(self, word: str) -> str | None:
        if not any(map(str.isalnum, word)) and all(category(character)[0] not in "LNS" for character in word):
            return None
        small = lower(word)
        return "" if small in STOP_WORDS else str(self._stem(small))


def lower(word: str) -> str:
    """`word` in lowercase, character by character as in Lucene, with a straight apostrophe."""
    if word.isascii():
        return word.lower()
    return word.replace("\u03a3", "\u03c3").replace("\u0130", "i").replace("\u2019", "'").lower()


_TERMS: Final = _Terms()
