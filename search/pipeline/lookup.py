"""Looks words up: documents that have those of a short query rank above all others, and words that no document has are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mappings.analysis.headings import normalise_heading
from mappings.analysis.words import Token, terms, tokens
from mappings.clinical.concepts import ConceptLexicon
from mappings.documents import Passage
from mappings.errors import MedleyError
from search.pipeline.evidence import doubts, unproven
from search.protocols import BM25, IndexMeta, LegsAnswer, LegsRequest, SearchEngine
from search.query import LexicalQuery, Query, Ranking
from search.ranking.candidates import Candidate
from search.ranking.levels import rank_by_level
from search.understanding.criteria import Criterion
from search.understanding.lookups import Words, can_hold, has, meanings_in, phrase
from search.understanding.understand import Understanding

MOST_MISSING: Final = 3
"""How many words that no document has are named: the first ones."""
LOOKED_UP: Final = 4
"""How many words are looked up for that at most."""
READ_WORDS: Final = 40
"""Of a longer text only so many words are looked at: an article has some that no abstract has."""
LEAST_LETTERS: Final = 4
LEAST_DOCUMENTS: Final = 1_000
"""In a smaller collection, words are missing because it is small."""
NOTHING_PASSES: Final = (
    "no document that you may see meets all criteria",
    "no document passes the fields that were typed",
)
NAMES_APART: Final = "no document says that all of this is present: searched by its words"
"""What to say where no document asserts all the names in a text together."""


def with_holders(answer: LegsAnswer) -> LegsAnswer:
    """The answer with the passages that hold the query in its lexical leg too, whose scores they have."""
    known = {item.passage for item in answer.rankings[BM25]}
    missing = [item for item in answer.holders if item.passage not in known]
    if not missing:
        return answer
    return replace(answer, rankings={**answer.rankings, BM25: Ranking((*answer.rankings[BM25], *missing))})


def genuine(answer: LegsAnswer, understanding: Understanding, passages: Mapping[str, Passage]) -> frozenset[str]:
    """The passages that hold the query, without those that have only a look-alike of an abbreviation ("sad" for "SAD").

    All passages of a document hold what stands in its title: only those count that say it themselves, if there are any.
    """
    held = [item for item in answer.holders if item.passage in passages]
    if any(item.short for item in understanding.asked):
        held = [item for item in held if _holds(passages[item.passage], understanding)]
    several = {name for name, count in Counter(item.document for item in held).items() if count > 1}
    saying = {item for item in held if item.document in several and _says(passages[item.passage], understanding)}
    said = {item.document for item in saying}
    return frozenset(item.passage for item in held if item.document not in said or item in saying)


def _says(passage: Passage, understanding: Understanding) -> bool:
    """Whether heading and text have everything that is wanted, without the title."""
    words = Words("\n".join((passage.heading, passage.text, passage.also)))
    return all(any(map(words.hold, forms)) for forms in understanding.lexical.wanted)


def nothing_passes(understanding: Understanding) -> str:
    """What to say where nothing is found because of the criteria, or because of the fields that were typed."""
    return NOTHING_PASSES[0 if understanding.criteria else 1]


def nobody_holds(understanding: Understanding) -> str:
    """What to say where no document that the caller may see holds the query."""
    if understanding.lexical.required:
        return "no document has all that was required: these are the nearest to its words"
    things = " and ".join(f"“{item.typed}”" for item in understanding.asked)
    return f"no document has {things}: these are the nearest by words and meaning"


def meanings_of(passage: Passage, understanding: Understanding) -> tuple[str, ...]:
    """Which meanings a passage spells out of those abbreviations in the query that have several."""
    ambiguous = [item for item in understanding.asked if len(item.meanings) > 1]
    return tuple(long for item in ambiguous for long in meanings_in(item, _whole(passage)))


def _holds(passage: Passage, understanding: Understanding) -> bool:
    return all(has(item, _whole(passage)) for item in understanding.asked)


def _whole(passage: Passage) -> str:
    return "\n".join((passage.title, passage.heading, passage.text, passage.also))


def in_sections(
    passages: Mapping[str, Passage], held: Container[str], aspects: Container[str], section: str
) -> frozenset[str]:
    """The passages under a heading of `aspects`; of documents that hold the query, also those that name `section` within."""
    documents = {passage.document for name, passage in passages.items() if name in held}
    named = phrase(section)

    def names_it(passage: Passage) -> bool:
        if not named or passage.document not in documents:
            return False
        text = f"{passage.heading}\n{passage.text}"
        return can_hold(text, named) and Words(text).hold(named)

    return frozenset(
        name for name, passage in passages.items() if normalise_heading(passage.heading) in aspects or names_it(passage)
    )


def by_tier(
    candidates: Sequence[Candidate], held: frozenset[str], required: bool, asked: frozenset[str] = frozenset()
) -> list[Candidate]:
    """The candidates that hold the query first, before them those of the sections `asked` for of the same documents.

    Others of these sections come before all else; otherwise in order. With `required`, only those that hold the query, if
    there are any.
    """
    if required and held:
        candidates = [item for item in candidates if item.passage in held]
        held = frozenset()
    if not (held or asked):
        return list(candidates)
    documents = {item.document for item in candidates if item.passage in held}

    def tier(item: Candidate) -> int:
        if item.passage in asked:
            return 0 if not held or item.document in documents else 2
        return 1 if item.passage in held else 3

    return rank_by_level(item._replace(tier=tier(item)) for item in candidates)


Arrangement = Callable[
    [Sequence[Candidate], Mapping[str, Passage], Sequence[Criterion], ConceptLexicon], list[Candidate]
]
"""Puts candidates in order by what their passages assert: `by_doubt` and `by_preference`."""


def by_doubt(
    candidates: Sequence[Candidate],
    passages: Mapping[str, Passage],
    criteria: Sequence[Criterion],
    lexicon: ConceptLexicon,
) -> list[Candidate]:
    """The candidates by how surely their `passages` prove the criteria, otherwise in their order."""
    return rank_by_level(item._replace(tier=doubts(passages[item.passage], criteria, lexicon)) for item in candidates)


def by_preference(
    candidates: Sequence[Candidate],
    passages: Mapping[str, Passage],
    preferences: Sequence[Criterion],
    lexicon: ConceptLexicon,
) -> list[Candidate]:
    """The candidates whose `passages` assert what is preferred by how surely they do, then the others.

    Those that are alike in this stay in their tiers; and of the others, those that rule it out end each tier.
    """
    tiers, limit = 1 + max((item.tier for item in candidates), default=0), unproven(preferences)

    def tier(item: Candidate) -> int:
        passage = passages[item.passage]
        left = doubts(passage, preferences, lexicon)
        if left < limit:
            return left * tiers + item.tier
        said = [(mention.concept, mention.assertion) for mention in passage.mentions]
        denied = any(preferred.denies(said, lexicon) for preferred in preferences)
        return limit * tiers + 2 * item.tier + denied

    return rank_by_level(item.unranked()._replace(tier=tier(item)) for item in candidates)


def by_title(candidates: Sequence[Candidate], passages: Mapping[str, Passage], text: str) -> list[Candidate]:
    """The candidates of documents whose title is `text`, by its stems, before all others; otherwise in their order."""
    wanted = phrase(text)
    titled = {item.passage for item in candidates if wanted and phrase(passages[item.passage].title) == wanted}
    if not titled:
        return list(candidates)
    return rank_by_level(item._replace(tier=0 if item.passage in titled else item.tier + 1) for item in candidates)


def asserts(passage: Passage, preferences: Sequence[Criterion], lexicon: ConceptLexicon) -> bool:
    """Whether a passage asserts all that is preferred, even if it only suspects it."""
    return doubts(passage, preferences, lexicon) < unproven(preferences)


def can_miss_words(query: Query, meta: IndexMeta) -> bool:
    """Whether `missing_words` is to be asked: not in a small collection, nor where only an order is wanted (`rerank` off)."""
    return query.rerank and meta.documents >= LEAST_DOCUMENTS


def missing_words(
    query: Query,
    understanding: Understanding,
    meta: IndexMeta,
    shown: Sequence[Passage],
    engine: SearchEngine,
    withheld: tuple[str, ...],
) -> tuple[str, ...]:
    """Words of the text, as typed, that no document which the caller may see has in any form.

    Words that a shown passage has are not looked up, nor those that are also searched by another name; filters do not count,
    since they are no reason for a word to be missing. Empty where the words can't be looked up.
    """
    text = query.text
    known = {term for passage in shown for term in terms(f"{passage.title} {passage.text}")}
    words = [item for item in _telling_words(text, understanding) if item.term not in known][:LOOKED_UP]
    requests = [
        LegsRequest(meta.index, LexicalQuery(((item.term, 1.0),)), {}, query.access, documents=1, withheld=withheld)
        for item in words
    ]
    try:
        counts = [engine.legs(request).total.value for request in requests]
    except MedleyError:
        return ()  # the answer itself is there
    missing = (text[item.start : item.end] for item, count in zip(words, counts, strict=True) if not count)
    return tuple(dict.fromkeys(missing))[:MOST_MISSING]


def _telling_words(text: str, understanding: Understanding) -> Iterator[Token]:
    """The words that stand for something: no numbers, no short ones, none that is also searched by another name."""
    other = (*(item.typed for item in understanding.names), *understanding.excluded)
    seen = {term for typed in other for term in terms(typed)}
    for item in tokens(text)[:READ_WORDS]:
        word = text[item.start : item.end]
        if len(word) >= LEAST_LETTERS and word.isalpha() and item.term not in seen:
            seen.add(item.term)
            yield item
