"""The sentences of a passage that best match the query, and the words in them to mark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from mappings.analysis.sentences import sentences
from mappings.analysis.words import tokens
from search.pipeline.results import Evidence, Span

SENTENCES = 2
"""The most sentences shown per hit."""


def marks(text: str, wanted: frozenset[str]) -> tuple[Span, ...]:
    """Where `text` contains one of the `wanted` index terms."""
    return tuple(Span(token.start, token.end) for token in tokens(text) if token.term in wanted)


def rarity(texts: Sequence[str], wanted: frozenset[str]) -> dict[str, float]:
    """A weight for each wanted term: the fewer of the `texts` contain it, the higher."""
    counted = Counter(term for text in texts for term in {token.term for token in tokens(text)} & wanted)
    return {term: math.log(1 + len(texts) / (1 + counted[term])) for term in wanted}


def candidates(text: str, weights: Mapping[str, float], limit: int) -> list[Evidence]:
    """The `limit` sentences of `text` that score best by their distinct wanted terms, best first.

    The score is the sum of those terms' weights, divided by the square root of the sentence's length in terms plus 8, so
    that a long sentence does not win by its length alone. Of a text without wanted terms, the first sentences are returned.
    """
    found = [_score_sentence(text, sentence.start, sentence.end, weights) for sentence in sentences(text)]
    return sorted(found, key=lambda item: (-item.score, item.start))[:limit]


def _score_sentence(text: str, start: int, end: int, weights: Mapping[str, float]) -> Evidence:
    sentence = text[start:end]
    words = tokens(sentence)
    score = sum(weights.get(term, 0.0) for term in {word.term for word in words}) / math.sqrt(8 + len(words))
    spans = tuple(Span(word.start, word.end) for word in words if word.term in weights)
    return Evidence(sentence, start, end, score, spans)


def best(found: Sequence[Evidence], scores: Sequence[float] | None = None) -> tuple[Evidence, ...]:
    """The sentences to show, in the order of the text, by a cross-encoder's `scores` or, without them, by their own.

    The best sentence is always shown, a further one only if it contains a wanted term.
    """
    order = sorted(range(len(found)), key=lambda number: -(scores[number] if scores else found[number].score))
    chosen = [found[number] for number in order[:SENTENCES] if found[number].score > 0 or number == order[0]]
    return tuple(sorted(chosen, key=lambda item: item.start))
