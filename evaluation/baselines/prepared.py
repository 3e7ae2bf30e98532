"""Texts and weights of the papers' lexical baselines: BM25+†'s preprocessing (CLAIMS, section 3.1), and TF-IDF."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from evaluation.measures import Values
from mappings.analysis.abbreviations import dictionary
from mappings.analysis.words import STOP_WORDS, terms

MORE_THAN: Final = 2
"""An abbreviation is expanded when it occurs more often than this in the collection and the questions."""

_FURTHER: Final = (
    "i me my we us our ours you your yours he him his she her hers its itself himself herself themselves them "
    "what which who whom whose when where why how am been being were have has had having do does did doing would "
    "should could can may might must shall about above after again against all any because before below between "
    "both down during each few from further here more most off once only other out over own same so some than "
    "those through too under until up very while nor yet also among although though however whether upon within "
    "without per via just "
)
FUNCTION_WORDS: Final = STOP_WORDS.union(_FURTHER.split())
"""The stop words of our index and further pronouns, auxiliaries, prepositions and conjunctions."""

_WORD: Final = re.compile(r"\w+")


def plain_tokens(text: str) -> list[str]:
    """Lowercase runs of letters and digits; nothing is stemmed or left out."""
    return _WORD.findall(text.lower())


def expansions_for(texts: Iterable[str]) -> dict[str, str]:
    """Short form → most common long form, for those of our dictionary that occur in `texts`, as written, more than twice."""
    senses: dict[str, str] = {}
    for entry in dictionary():
        if _WORD.fullmatch(entry.short):
            senses.setdefault(entry.short, entry.long)
    counts = Counter(word for text in texts for word in _WORD.findall(text) if word in senses)
    return {short: senses[short] for short, count in counts.items() if count > MORE_THAN}


def prepared_tokens(text: str, expansions: Mapping[str, str]) -> list[str]:
    """BM25+†'s tokens: abbreviations expanded, lowercase, without function words, stemmed."""
    expanded = _WORD.sub(lambda match: expansions.get(match[0], match[0]), text)
    return terms(" ".join(word for word in plain_tokens(expanded) if word not in FUNCTION_WORDS))


class TfIdf:
    """Cosine of log-weighted term frequencies times inverse document frequencies, (1 + ln tf) · ln(N / df)."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._size = len(texts)
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, words in enumerate(texts):
            for word, count in Counter(words).items():
                postings[word].append((number, 1 + np.log(count)))
        self._idf = {word: float(np.log(self._size / len(found))) for word, found in postings.items()}
        self._postings = {
            word: (
                np.fromiter((at for at, _ in found), np.int64, len(found)),
                np.fromiter((weight * self._idf[word] for _, weight in found), np.float64, len(found)),
            )
            for word, found in postings.items()
        }
        squares = np.zeros(self._size)
        for at, weights in self._postings.values():
            squares[at] += weights**2
        self._norms = np.sqrt(np.where(squares > 0, squares, 1.0))

    def get_scores(self, words: Sequence[str]) -> Values:
        """The cosine with each text, shape (texts,); the query's own length changes no order and is left out."""
        scores = np.zeros(self._size)
        for word, count in Counter(words).items():
            if word in self._postings:
                at, weights = self._postings[word]
                scores[at] += (1 + np.log(count)) * self._idf[word] * weights
        return scores / self._norms
