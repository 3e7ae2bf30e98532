"""The words that a criterion asks for: as an index is asked for them, and the sentences that have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mappings.analysis.sentences import sentences
from mappings.analysis.words import Token, terms, tokens
from mappings.documents import Sentence
from search.pipeline.results import Span
from search.query import Phrase
from search.understanding.lookups import phrase

_QUOTED: Final = re.compile(r'["“„]([^"“”„]+)["”]')


def wanted_phrases(words: str) -> tuple[Phrase, ...]:
    """What a document must have: each word by its stem, and each "quoted phrase" as it stands; stop words are nothing."""
    quoted = (phrase(text) for text in _QUOTED.findall(words))
    single = ((term,) for term in terms(_QUOTED.sub(" ", words)))
    return tuple(dict.fromkeys(item for item in (*quoted, *single) if any(item)))


def sentences_with(text: str, phrases: Sequence[Phrase]) -> list[tuple[Sentence, Span]]:
    """The sentences of `text` that have one of the phrases, those with most of them first, and its place in each."""
    found = []
    for sentence in sentences(text):
        spans = [span for one in phrases for span in _places(tokens(text[sentence.start : sentence.end]), one)][:1]
        if spans:
            own = set(terms(text[sentence.start : sentence.end]))
            found.append(
                (-sum(own.issuperset(filter(None, one)) for one in phrases), sentence.start, sentence, spans[0])
            )
    return [(sentence, span) for _, _, sentence, span in sorted(found)]


def _places(words: Sequence[Token], one: Phrase) -> Iterator[Span]:
    placed = {word.position: word for word in words}
    for word in words:
        run = [(placed.get(word.position + offset), term) for offset, term in enumerate(one) if term]
        if all(token is not None and token.term == term for token, term in run):
            last = run[-1][0]
            yield Span(word.start, last.end if last else word.end)
