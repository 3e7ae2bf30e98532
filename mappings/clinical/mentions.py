"""Finds the concepts that a sentence mentions: the longest names, by a trie over stems.

Names of one word are found in singular and plural only, and abbreviations as they are spelt. An ambiguous abbreviation
counts only where the context decides: the document gives the long form, or the sentence's section of the document mentions
another concept of the same group. Names of which the words are apart ("lung and liver metastases") are not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from mappings.analysis.words import STOP_WORDS, lower, terms
from mappings.clinical.concepts import ConceptLexicon

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’](?!s\b)[^\W_]+)?")
_GAP: Final = re.compile(r"(?:['’]s)?[ \t\n\r\u00a0\-\u2010-\u2014/.'’()&+,]{0,3}")
_BREAKS: Final = re.compile(r"[.,;:]\s|\n\n")
_LEAST_LOWERCASE: Final = 4
_WORDS: Final = frozenset(["aids", "fast", "pain", "care", "sars", "tips", "camp", "step", "pets", "dash"])
"""Abbreviations that are other words in lowercase."""
_PLAIN: Final = (
    "all am pet cat dip fall fast had has he her him his how may me my now old one our out ox pad rest sad she so up us "
    "was we who you aid aids art arm bad cap car dose ear eye gas hip map met pain pat ran red sit ten tip top toe"
)
_NEVER_IN_CAPITALS: Final = STOP_WORDS | frozenset(_PLAIN.split())


@dataclass(frozen=True, slots=True)
class FoundName:
    """One of the `concepts` at the characters `start:end`; `ambiguous` if the spelling commonly means something else."""

    start: int
    end: int
    concepts: tuple[str, ...]
    ambiguous: bool = False


class _Leaf(NamedTuple):
    concepts: tuple[str, ...]
    ambiguous: bool


_LEAF: Final = ""
"""The key of a trie's node that holds what its path names; no token is empty."""
_T = TypeVar("_T")
_Node = dict[str, "_Node | _Leaf"]


class _Memo(dict[str, _T]):
    """What `function` gives for every word seen."""

    _CAPACITY = 200_000

    def __init__(self, function: Callable[[str], _T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> _T:
        found = self._function(word)
        if len(self) >= self._CAPACITY:
            self.clear()
        self[word] = found
        return found


def _key(word: str) -> str:
    """The stem of a word; a stop word stays itself, since "not" and "of" tell names apart."""
    found = terms(word)
    # "Maxillary sinus" has the stems of "maxillary sinusitis".
    return found[0] if found and not word.lower().endswith("itis") else lower(word)


def _singular(word: str) -> str:
    """A word in lowercase, without the ending of a plural."""
    small = lower(word)
    if small.endswith("ies") and len(small) > 4:
        return f"{small[:-3]}y"
    if small.endswith(("sses", "shes", "ches", "xes")):
        return small[:-2]
    if len(small) > 3 and small.endswith("s") and not small.endswith(("ss", "us", "is")):
        return small[:-1]
    return small


class _Sides(NamedTuple):
    """The words of a sentence, their stems, and where they are."""

    words: list[str]
    keys: list[str]
    spans: list[tuple[int, int]]
    sentence: str


class ConceptFinder:
    """Finds the names and abbreviations of the concepts of a lexicon."""

    def __init__(self, lexicon: ConceptLexicon) -> None:
        self._keys = _Memo(_key)
        self._singulars = _Memo(_singular)
        self._names: _Node = {}
        self._single: dict[str, _Leaf] = {}
        self._short: _Node = {}
        for concept in lexicon:
            for name in concept.names:
                words = _words(name)
                if len(words) > 1:
                    _insert(self._names, [self._keys[word] for word in words], concept.id, False)
                else:  # A stem says too little: "sterile" is no sterility, "mediastinal" no mediastinitis.
                    self._single.setdefault(self._singulars[words[0]], _Leaf((concept.id,), False))
            for item in concept.abbreviations:
                for spelt, ambiguous in _spellings(item.text, item.ambiguous):
                    _insert(self._short, _words(spelt), concept.id, ambiguous)
        self._starts = _Memo(self._can_start)

    def find(self, sentence: str) -> list[FoundName]:
        """The mentions of `sentence` in order and disjoint, the longest of those that start at a word."""
        words, starts = _TOKEN.findall(sentence), self._starts
        if not any(map(starts.__getitem__, words)):
            return []
        spans = [match.span() for match in _TOKEN.finditer(sentence)]
        sides = _Sides(words, [self._keys[word] for word in words], spans, sentence)
        capitals = sentence.isupper()
        found: list[FoundName] = []
        at, count = 0, len(words)
        while at < count:
            best, size = self._at(sides, at, capitals) if starts[words[at]] else (None, 1)
            if best:
                found.append(FoundName(spans[at][0], spans[at + size - 1][1], best.concepts, best.ambiguous))
            at += size
        return found

    def _at(self, sides: _Sides, at: int, capitals: bool) -> tuple[_Leaf | None, int]:
        """What is named from the word `at`, and how many words it has, at least 1."""
        word = sides.words[at]
        best, size = _longest(self._names, sides.keys, at, sides)
        if not best:
            best, size = self._single.get(self._singulars[word]), 1
        if word in self._short and not (capitals and word.lower() in _NEVER_IN_CAPITALS):
            leaf, length = _longest(self._short, sides.words, at, sides)
            if leaf and (length > size or not best):
                best, size = leaf, length
        return best, size

    def _can_start(self, word: str) -> bool:
        return self._keys[word] in self._names or self._singulars[word] in self._single or word in self._short


def decide(item: FoundName, sure: Container[str], near: Container[str], group: Callable[[str], str]) -> str:
    """The concept of a mention, or "" where it is ambiguous and the context leaves it open.

    `sure`: the concepts that the document names in full; `near`: the groups of those that the mention's section names.
    """
    if not item.ambiguous:
        return item.concepts[0]
    likely = [concept for concept in item.concepts if concept in sure]
    likely = likely or [concept for concept in item.concepts if group(concept) in near]
    return likely[0] if len(likely) == 1 else ""


def _words(name: str) -> list[str]:
    return _TOKEN.findall(name)


def _spellings(text: str, ambiguous: bool) -> list[tuple[str, bool]]:
    """An abbreviation, its plural, and, of those that can't be another word, the lowercase form."""
    found = [text]
    if text.isupper() and text.isalpha():
        found.append(f"{text}s")
    small = text.lower()
    if len(text) >= _LEAST_LOWERCASE and not ambiguous and small not in _WORDS and small != text:
        found.append(small)
    return [(spelt, ambiguous) for spelt in found]


def _insert(root: _Node, path: Sequence[str], concept: str, ambiguous: bool) -> None:
    node = root
    for key in path:
        node = node.setdefault(key, {})  # type: ignore[assignment]  # only the key "" holds a leaf
    known = node.get(_LEAF)
    if isinstance(known, _Leaf):
        if concept in known.concepts or (ambiguous and not known.ambiguous):
            return
        if known.ambiguous:
            node[_LEAF] = _Leaf((*known.concepts, concept), True) if ambiguous else _Leaf((concept,), False)
        return  # of two names with the same stems, the first in the lexicon counts
    node[_LEAF] = _Leaf((concept,), ambiguous)


def _longest(root: _Node, keys: Sequence[str], at: int, sides: _Sides) -> tuple[_Leaf | None, int]:
    """What the longest path from the word `at` names, and how many words it has."""
    node, best, size = root, None, 0
    for place in range(at, len(keys)):
        following = node.get(keys[place])
        if following is None:
            break
        if place > at and not _joined(sides.sentence, sides.spans[place - 1][1], sides.spans[place][0]):
            break
        node = following  # type: ignore[assignment]  # only the key "" holds a leaf
        leaf = node.get(_LEAF)
        if isinstance(leaf, _Leaf):
            best, size = leaf, place - at + 1
    return best, size


def _joined(sentence: str, end: int, start: int) -> bool:
    """Whether two words can be of one name: only a space, a hyphen or the like is between them."""
    between = sentence[end:start]
    if between == " ":
        return True
    # The stop in "C. difficile" ends no sentence.
    initial = between == ". " and not sentence[max(0, end - 2) : end - 1].isalnum()
    return initial or bool(_GAP.fullmatch(between) and not _BREAKS.search(between))
