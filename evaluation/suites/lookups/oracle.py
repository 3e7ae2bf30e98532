"""Which documents hold words or a phrase: plain dicts over stored documents, which share no code with the engines.

A document's words are those of its title, headings and texts; a phrase stands within one of these. Words match by their
stems. In a phrase the positions count: "shortness of breath" needs its two words with exactly one word between them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mappings.analysis.words import lower, tokens
from mappings.documents import Document

Phrase = tuple[str, ...]
"""Stems in order, with an empty one for each stop word between them."""
_ANY: Final = 0
"""In a sequence of words: a stop word; in a phrase: any word."""
_END: Final = 1
"""The end of a title, heading or text."""


def parts(document: Document) -> list[str]:
    """Title, headings and texts."""
    return [document.title, *(part for section in document.sections for part in (section.heading, section.text))]


def phrase_of(text: str) -> Phrase:
    """The stems from the first to the last content word of `text`; empty if there is none."""
    found = {token.position: token.term for token in tokens(text)}
    return tuple(found.get(place, "") for place in range(min(found), max(found) + 1)) if found else ()


class WordIndex:
    """Stem → documents, built once: the oracle of every look-up.

    `documents` are in the order of their ids, `spellings` gives for each stem how a document writes it, in lowercase.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents: Final = sorted(documents, key=lambda document: document.id)
        self.spellings: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._holding: dict[str, list[int]] = {}
        self._words: Final = [self._read(place, document) for place, document in enumerate(self.documents)]

    def _read(self, place: int, document: Document) -> array[int]:
        words = array("I")
        for part in parts(document):
            start = len(words)
            for token in tokens(part):
                words.extend([_ANY] * (start + token.position - len(words)))
                words.append(self._number(token.term))
                self.spellings.setdefault(token.term, lower(part[token.start : token.end]))
                holding = self._holding.setdefault(token.term, [])
                if not holding or holding[-1] != place:
                    holding.append(place)
            words.append(_END)
        return words

    def _number(self, stem: str) -> int:
        return self._numbers.setdefault(stem, len(self._numbers) + _END + 1)

    def frequency(self, stem: str) -> int:
        """How many documents hold the stem."""
        return len(self._holding.get(stem, ()))

    def holding(self, stems: Iterable[str]) -> frozenset[str]:
        """The ids of the documents that hold every one of the stems, anywhere."""
        return frozenset(self.documents[place].id for place in self._places(stems))

    def holding_phrase(self, phrase: Phrase) -> frozenset[str]:
        """The ids of the documents that hold the phrase."""
        wanted = [self._numbers.get(stem, _ANY) if stem else _ANY for stem in phrase]
        places = self._places(filter(None, phrase))
        return frozenset(self.documents[place].id for place in places if _stands(wanted, self._words[place]))

    def holding_spelling(self, text: str) -> frozenset[str]:
        """The ids of the documents that hold `text` in exactly this spelling, as whole words."""
        spelled = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        places = self._places(filter(None, phrase_of(text)))
        found = (self.documents[place] for place in places)
        return frozenset(document.id for document in found if any(map(spelled.search, parts(document))))

    def _places(self, stems: Iterable[str]) -> Iterator[int]:
        """Where all stems are held, ascending; nowhere without any stem."""
        lists = sorted((self._holding.get(stem, []) for stem in set(stems)), key=len)
        if not lists:
            return iter(())
        common = set(lists[0]).intersection(*lists[1:])
        return iter(sorted(common))


def _stands(wanted: Sequence[int], words: array[int]) -> bool:
    """Whether the phrase, whose first number is that of a stem, stands anywhere in a document's words."""
    start = 0
    while True:
        try:
            start = words.index(wanted[0], start)
        except ValueError:
            return False
        found = words[start : start + len(wanted)]
        if len(found) == len(wanted) and all(map(_fits, wanted, found)):
            return True
        start += 1


def _fits(wanted: int, found: int) -> bool:
    return wanted == found or (wanted == _ANY and found != _END)
