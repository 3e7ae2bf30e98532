"""Finds the concepts that a sentence mentions: the longest names, by a trie over stems.

Names of one word are found in singular and plural only, and abbreviations as they are spelt. An ambiguous abbreviation
counts only where the context decides: the document gives the long form, or the sentence's section of the document mentions
another concept of the same group. Of names of which the words are apart, those are found that only have words of side, place
or degree in between: "heart is mildly enlarged", "calcified left upper lobe granuloma". "Lung and liver metastases" is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, cast

from mappings.analysis.mentions.memo import Memo
from mappings.analysis.mentions.screens import blanked
from mappings.analysis.mentions.spelling import american, in_full, joined_or_apart
from mappings.analysis.words import STOP_WORDS, lower, terms
from mappings.clinical.concepts import ConceptLexicon

_TOKEN: Final = re.compile(r"([^\W_]+(?:['’](?!s\b)[^\W_]+)?)")
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
_LEFT_OUT: Final = frozenset(["the", "is", "are"])
_BETWEEN: Final = (
    "the is are remains appears again still now left right sided bilateral both upper lower middle mid midlung lobe hilar "
    "perihilar apical basilar bibasilar lingular lateral medial anterior posterior proximal distal "
    "mildly moderately severely markedly slightly minimally grossly diffusely persistently"
)
"""Words that can stand between those of a name: it means the same with them."""


class FoundName(NamedTuple):
    """One of the `concepts` at the characters `start:end`; `ambiguous` if the spelling commonly means something else."""

    start: int
    end: int
    concepts: tuple[str, ...]
    ambiguous: bool = False

    def named(self, concepts: tuple[str, ...], sentence: str) -> Iterator[FoundName]:
        """The same, meaning `concepts`; of several, each has its letter of the abbreviation."""
        places = [
            self.start + place for place, letter in enumerate(sentence[self.start : self.end]) if letter.isalpha()
        ]
        for concept, place in zip(concepts, places, strict=False):
            start, end = (self.start, self.end) if len(concepts) == 1 else (place, place + 1)
            yield FoundName(start, end, (concept,))


class _Leaf(NamedTuple):
    concepts: tuple[str, ...]
    ambiguous: bool


_LEAF: Final = ""
"""The key of a trie's node that holds what its path names; no token is empty."""
_END: Final = "\n"
"""What follows the last word: no word."""
_Node = dict[str, "_Node | _Leaf"]


def _key(word: str) -> str:
    """The stem of a word; a stop word stays itself, since "not" and "of" tell names apart."""
    found = terms(in_full(lower(word)))
    # "Maxillary sinus" has the stems of "maxillary sinusitis".
    return found[0] if found and not word.lower().endswith("itis") else lower(word)


def _singular(word: str) -> str:
    """A word in lowercase, in American spelling, without the ending of a plural."""
    small = american(lower(word))
    if small.endswith("ies") and len(small) > 4:
        return f"{small[:-3]}y"
    if small.endswith(("sses", "shes", "ches", "xes")):
        return small[:-2]
    if len(small) > 3 and small.endswith("s") and not small.endswith(("ss", "us", "is")):
        return small[:-1]
    return small


class _Start(NamedTuple):
    """What can start at a word: names of several words, by the stem that follows, a name of one, and abbreviations."""

    names: _Node
    single: _Leaf | None
    short: _Node


class _Words:
    """The words of a sentence: `words` has "" between two if more than one character separates them, and ends with `_END`."""

    def __init__(self, sentence: str) -> None:
        apart = _alone(sentence) if "'" in sentence or "’" in sentence else blanked(sentence)
        self.sentence = sentence
        self.words = apart.split(" ")
        self._letters: list[int] = []

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the words from number `first` to `last` are."""
        letters = self._letters = self._letters or list(accumulate(map(len, self.words)))
        return letters[first] - len(self.words[first]) + first, letters[last] + last

    def following(self, place: int) -> int:
        """The number of the word after the one at `place`, or of `_END`."""
        place += 1
        while not self.words[place]:
            place += 1
        return place

    def are_joined(self, place: int, following: int) -> bool:
        """Whether two words can be of one name: only a space, a hyphen or the like is between them."""
        start, end = self.span(place, following)
        between = self.sentence[start + len(self.words[place]) : end - len(self.words[following])]
        if between == " ":
            return True
        # The stop in "C. difficile" ends no sentence.
        initial = between == ". " and not self.words[place][-2:-1].isalnum()
        return initial or bool(_GAP.fullmatch(between) and not _BREAKS.search(between))


_NO_NODE: Final[_Node] = {}


class ConceptFinder:
    """Finds the names and abbreviations of the concepts of a lexicon, and further ambiguous `short_forms` of them."""

    def __init__(self, lexicon: ConceptLexicon, short_forms: Iterable[tuple[str, str]] = ()) -> None:
        self._keys = Memo(_key)
        self._singulars = Memo(_singular)
        self._names: _Node = {}
        self._single: dict[str, _Leaf] = {}
        self._short: _Node = {}
        for concept in lexicon:
            for name in concept.names:
                self._add(_words(name), concept.id)
            for item in concept.abbreviations:
                for spelt, ambiguous in _spellings(item.text, item.ambiguous):
                    _insert(self._short, _words(spelt), concept.id, ambiguous)
        for concept in lexicon:
            for name in concept.names:
                for words in joined_or_apart(_words(name)):
                    self._add(words, concept.id)
        for form, concept_id in short_forms:
            _insert(self._short, _words(form), concept_id, True)
        self._between = frozenset(self._keys[word] for word in _BETWEEN.split())
        self._starts = Memo(self._start)

    def _add(self, words: Sequence[str], concept: str) -> None:
        if len(words) > 1:
            _insert(self._names, self._path(words), concept, False)
        else:  # A stem says too little: "sterile" is no sterility, "mediastinal" no mediastinitis.
            self._single.setdefault(self._singulars[words[0]], _Leaf((concept,), False))

    def find(self, sentence: str) -> list[FoundName]:
        """The mentions of `sentence` in order and disjoint, the longest of those that start at a word."""
        text = _Words(sentence)
        words, keys, between = text.words, self._keys, self._between
        starts = [(place, start) for place, start in enumerate(map(self._starts.__getitem__, words)) if start]
        words.append(_END)
        found: list[FoundName] = []
        past = 0
        for place, start in starts:
            if place < past:
                continue
            names, best, short = start
            last = place
            following = words[place + 1] or words[text.following(place)]
            key = keys[following] if names else _END
            if key in names or key in between or (short and (_LEAF in short or following in short)):
                best, last = self._at(text, place, start)
            if best:
                found.append(FoundName(*text.span(place, last), *best))
                past = last + 1
        return found

    def _at(self, text: _Words, place: int, start: _Start) -> tuple[_Leaf | None, int]:
        """What is named from the word at `place`, and the place of its last word."""
        names, single, short = start
        best, last = _longest(names, text, place, self._keys.__getitem__, self._between)
        best = best or single
        if short and not (text.words[place].lower() in _NEVER_IN_CAPITALS and text.sentence.isupper()):
            leaf, end = _longest(short, text, place, str)
            if leaf and (end > last or not best):
                return leaf, end
        return best, last

    def _path(self, words: Sequence[str]) -> list[str]:
        """The stems of a name, without the words inside it that a text can have or leave out."""
        return [self._keys[word] for index, word in enumerate(words) if not index or word not in _LEFT_OUT]

    def _start(self, word: str) -> _Start | None:
        names = cast(_Node, self._names.get(self._keys[word], _NO_NODE))
        found = _Start(names, self._single.get(self._singulars[word]), cast(_Node, self._short.get(word, _NO_NODE)))
        return found if any(found) else None


def decide(
    item: FoundName,
    sure: Container[str],
    near: Container[str],
    group: Callable[[str], str],
    usual: str | None = None,
) -> str:
    """The concept of a mention, or "" where it is ambiguous and the context leaves it open.

    `sure`: the concepts that the document names in full; `near`: the groups of those that the mention's section names;
    `usual`: what the abbreviation usually means, "" for nothing that is a concept. The group says less than that.
    """
    if not item.ambiguous:
        return item.concepts[0]
    likely = [concept for concept in item.concepts if concept in sure]
    if not likely and usual is not None:
        return usual
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


def _longest(
    node: _Node, text: _Words, place: int, key: Callable[[str], str], between: Container[str] = ()
) -> tuple[_Leaf | None, int]:
    """What the longest path from the word at `place` names, and the place of its last word; `node` is that of the word.

    Words `between` those of a path are passed over.
    """
    best, last = cast("_Leaf | None", node.get(_LEAF)), place
    while True:
        following = text.following(place)
        known = key(text.words[following])
        child = node.get(known)
        if (child is None and known not in between) or not text.are_joined(place, following):
            return best, last
        place = following
        if child is None:
            continue
        node = cast(_Node, child)
        if _LEAF in node:
            best, last = cast(_Leaf, node[_LEAF]), place


def _alone(sentence: str) -> str:
    """`sentence` with a space for every character that is not of a word; an apostrophe can be of one."""
    pieces = _TOKEN.split(sentence)
    pieces[::2] = [" " * len(between) for between in pieces[::2]]
    return "".join(pieces)
