"""Turn a query as typed into what the legs and the models read: words, abbreviations, the opening of long texts."""

from __future__ import annotations

from collections import Counter

from mappings.analysis.abbreviations import expansions
from mappings.analysis.sentences import sentences
from mappings.analysis.words import terms, tokens
from mappings.documents import clean
from search.pipeline.results import Expansion, Understanding
from search.protocols import LexicalQuery
from search.query import Query

MODEL_WORDS = 64
"""How many words of a query the models read, in whole sentences: a pasted article has its claim in headline and lead."""
MAX_TERMS = 128
"""How many distinct terms of a query are searched: the most frequent ones."""
EXPANSION_WEIGHT = 0.25
"""An expansion is a guess at what was meant: on training claims, BM25 got worse with a higher weight."""


def understand(query: Query) -> Understanding:
    """Analyse a query. Pure: the same query always gives the same result."""
    text = clean(query.words)
    counted = Counter(terms(text))
    found = tuple(Expansion(*pair) for pair in expansions(text.split()))
    phrases = [_phrase(longer) for longer in _additions(text, found)]
    singles = {phrase[0]: EXPANSION_WEIGHT for phrase in phrases if len(phrase) == 1 and phrase[0] not in counted}
    weighted = {term: float(count) for term, count in counted.most_common(MAX_TERMS)} | singles
    lexical = LexicalQuery(
        terms=tuple(sorted(weighted.items())),
        phrases=tuple((phrase, EXPANSION_WEIGHT) for phrase in dict.fromkeys(phrases) if len(phrase) > 1),
    )
    marked = frozenset(weighted) | {term for phrase in phrases for term in phrase if term}
    return Understanding(lexical, _model_text(text, query.lacking), marked, found, _notes(counted, query))


def _phrase(text: str) -> tuple[str, ...]:
    """The terms of `text`, with an empty word for each stop word between them."""
    words = tokens(text)
    placed = {token.position: token.term for token in words}
    return tuple(placed.get(place, "") for place in range(words[0].position, words[-1].position + 1)) if words else ()


def _additions(text: str, found: tuple[Expansion, ...]) -> list[str]:
    """For each (short, long) pair, the form that was not typed."""
    typed = f" {' '.join(terms(text))} "
    return [form for pair in found for form in pair if f" {' '.join(terms(form))} " not in typed]


def _model_text(text: str, lacking: tuple[str, ...]) -> str:
    opening, words = 0, 0
    for sentence in sentences(text):
        words += len(text[sentence.start : sentence.end].split())
        if opening and words > MODEL_WORDS:
            break
        opening = sentence.end
    return " ".join([text[:opening].strip(), *(f"no {finding}" for finding in lacking)]).strip()


def _notes(counted: Counter[str], query: Query) -> tuple[str, ...]:
    notes = []
    if len(counted) > MAX_TERMS:
        notes.append(f"the text has {len(counted)} distinct terms: the {MAX_TERMS} most frequent were searched")
    if query.lacking:
        notes.append("absent findings are read as words, not as a filter")
    return tuple(notes)
