"""Short look-up queries made from a collection's own documents, and the documents that hold each of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Final

from evaluation.baselines.prepared import FUNCTION_WORDS
from evaluation.corpus.abstracts import plain
from evaluation.suites.lookups.oracle import WordIndex, parts, phrase_of
from evaluation.task import SAMPLE_SEED
from mappings.analysis.abbreviations import Abbreviation, dictionary
from mappings.analysis.words import Token, lower, terms, tokens
from mappings.collection import Collection
from mappings.documents import Document

RARE_WORD: Final = "rare word"
DRUG_NAME: Final = "drug name"
ABBREVIATION: Final = "abbreviation, one sense"
AMBIGUOUS: Final = "abbreviation, several senses"
IDENTIFIER: Final = "id"
TITLE: Final = "exact title"
PHRASE: Final = "phrase in quotation marks"
TWO_WORDS: Final = "two words"
TYPES: Final = (RARE_WORD, DRUG_NAME, ABBREVIATION, AMBIGUOUS, IDENTIFIER, TITLE, PHRASE, TWO_WORDS)
FEW: Final = 10
"""Most documents that hold a rare word, and most that share a title that is looked up."""
LONGEST_TITLE: Final = 1_000
ROUNDS: Final = 25
"""How many phrases, and how many pairs of words, are drawn from each document at most."""
_WIDEST_GAP: Final = 2
"""Most stop words within a phrase."""
_DRUG: Final = re.compile(
    r"[a-z]{2,}(?:statin|pril|sartan|[ao]lol|dipine|[tlxz]umab|ximab|tinib|rafenib|ciclib|zomib|vir|cillin|mycin|micin"
    r"|floxacin|cycline|conazole|prazole|azepam|azolam|caine|barbital|profen|coxib|gliptin|gliflozin|glitazone|glutide"
    r"|parin|xaban|gatran|dronate|triptan|setron|oxetine|platin|taxel|rubicin|trexate|thiazide|semide|zosin|lukast)s?"
    r"|(?:met|phen)formin|(?:ci|rani|famo|niza)me?tidine|(?:albu|salme|formo)terol|(?:dexa|beta)methasone"
    r"|(?:methyl)?prednis(?:ol)?one|(?:hydro)?cortisone"
)
_NO_DRUGS: Final = frozenset(
    ["april", "angiostatin", "cystatin", "endostatin", "follistatin", "myostatin", "oncostatin", "somatostatin"]
)
"""A month, and proteins of the body."""
_PUNCTUATION: Final = re.compile(r"[^\w\s/’'-]|[\r\n]")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query, its type, and the ids of the documents that hold it: at least one."""

    type: str
    text: str
    holders: frozenset[str]


def make_lookups(index: WordIndex, collection: Collection, number: int, seed: int = SAMPLE_SEED) -> list[Lookup]:
    """At most `number` distinct queries, of each kind about as many; the same documents always give the same ones.

    A type that runs out leaves its share to the others; abbreviations of both types share one. No query consists of stop
    words only.
    """
    drawn = _draw(_streams(index, collection, seed))
    found: dict[str, Lookup] = {}
    for lookup in drawn:
        if len(found) == number:
            break
        if lookup.holders and terms(lookup.text):
            found.setdefault(lookup.text.lower(), lookup)
    return sorted(found.values(), key=lambda lookup: (TYPES.index(lookup.type), lookup.text))


def _streams(index: WordIndex, collection: Collection, seed: int) -> list[Iterator[Lookup]]:
    def source(name: str) -> Random:
        return Random(f"{seed} {name}")  # noqa: S311 - each type's own: a change to one leaves the others alone

    documents = index.documents
    return [
        _rare_words(index, source(RARE_WORD)),
        _drug_names(index, source(DRUG_NAME)),
        _abbreviations(index, source(ABBREVIATION)),
        _identifiers(documents, collection, source(IDENTIFIER)),
        _titles(documents, source(TITLE)),
        _phrases(index, source(PHRASE)),
        _two_words(index, source(TWO_WORDS)),
    ]


def _draw(streams: Sequence[Iterator[Lookup]]) -> Iterator[Lookup]:
    """One of each stream in turn, until all have run out."""
    for drawn in zip_longest(*streams):
        yield from (lookup for lookup in drawn if lookup is not None)


def _shuffled(items: Iterable[str], source: Random) -> list[str]:
    ordered = sorted(items)
    source.shuffle(ordered)
    return ordered


def _is_content(word: str) -> bool:
    return word.isalpha() and word not in FUNCTION_WORDS


def _rare_words(index: WordIndex, source: Random) -> Iterator[Lookup]:
    for stem in _shuffled(index.spellings, source):
        word = index.spellings[stem]
        if len(word) >= 4 and _is_content(word) and index.frequency(stem) <= FEW:
            yield Lookup(RARE_WORD, word, index.holding([stem]))


def _drug_names(index: WordIndex, source: Random) -> Iterator[Lookup]:
    for stem in _shuffled(index.spellings, source):
        word = index.spellings[stem]
        if _DRUG.fullmatch(word) and word not in _NO_DRUGS:
            yield Lookup(DRUG_NAME, word, index.holding([stem]))


def _abbreviations(index: WordIndex, source: Random) -> Iterator[Lookup]:
    """Those of our dictionary that occur, short or long: one with a single sense, one with several, and so on."""
    senses: dict[str, list[Abbreviation]] = defaultdict(list)
    for entry in dictionary():
        # Stop words are not in an index: "OR" can't be looked up by itself.
        if all(phrase_of(entry.short)) and len(phrase_of(entry.short)) == len(re.findall(r"\w+", entry.short)):
            senses[entry.short].append(entry)
    single = _shuffled((short for short, found in senses.items() if len(found) == 1), source)
    several = _shuffled((short for short, found in senses.items() if len(found) > 1), source)

    def held(kind: str, shorts: Sequence[str]) -> Iterator[Lookup]:
        found = (Lookup(kind, short, _holding_senses(index, senses[short])) for short in shorts)
        return (lookup for lookup in found if lookup.holders)

    yield from _draw([held(ABBREVIATION, single), held(AMBIGUOUS, several)])


def _holding_senses(index: WordIndex, senses: Sequence[Abbreviation]) -> frozenset[str]:
    """The documents with the short form or any of its long forms."""
    found: set[str] = set()
    for entry in senses:
        found |= index.holding_spelling(entry.short) if entry.cased else index.holding_phrase(phrase_of(entry.short))
        for long in entry.longs:
            found |= index.holding_phrase(phrase_of(long))
    return frozenset(found)


def identifying(collection: Collection) -> tuple[str, ...]:
    """The fields whose values identify documents, such as pmid or patient."""
    return tuple(name for name, field in collection.fields.items() if field.identifies)


def _identifiers(documents: Sequence[Document], collection: Collection, source: Random) -> Iterator[Lookup]:
    """Ids and identifying fields in turn, of documents in a random order."""
    names = identifying(collection)
    own = {document.id: [document.id, *_values(document, names)] for document in documents}
    holders: dict[str, set[str]] = defaultdict(set)
    for identifier, values in own.items():
        for value in values:
            holders[value].add(identifier)
    for number, identifier in enumerate(_shuffled(own, source)):
        value = own[identifier][number % len(own[identifier])]
        yield Lookup(IDENTIFIER, value, frozenset(holders[value]))


def _values(document: Document, names: Sequence[str]) -> list[str]:
    """What identifies the document in these fields; words without any digit, such as a name of a ward, do not."""
    found = (document.fields.get(name) for name in names)
    listed = [value for item in found for value in (item if isinstance(item, tuple) else (item,))]
    return [value for value in listed if isinstance(value, str) and re.search(r"\d", value) and len(value) <= 200]


def _titles(documents: Sequence[Document], source: Random) -> Iterator[Lookup]:
    """Titles that few documents share: thousands of reports called "Chest X-ray" are not looked up by that."""
    titles: dict[str, str] = {document.id: " ".join(document.title.split()) for document in documents}
    holders: dict[str, set[str]] = defaultdict(set)
    for identifier, title in titles.items():
        holders[plain(title)].add(identifier)
    for identifier in _shuffled(titles, source):
        title = titles[identifier]
        if 0 < len(title) <= LONGEST_TITLE and len(holders[plain(title)]) <= FEW:
            yield Lookup(TITLE, title, frozenset(holders[plain(title)]))


def _rounds(index: WordIndex, source: Random) -> Iterator[Document]:
    """All documents, `ROUNDS` times, each time in another random order."""
    by_id = {document.id: document for document in index.documents}
    for _ in range(ROUNDS):
        yield from (by_id[identifier] for identifier in _shuffled(by_id, source))


def _phrases(index: WordIndex, source: Random) -> Iterator[Lookup]:
    for document in _rounds(index, source):
        text = source.choice(parts(document))
        words = tokens(text)
        length = source.randint(2, 4)
        if len(words) >= length:
            start = source.randrange(len(words) - length + 1)
            phrase = _phrase(text, words[start : start + length])
            if phrase:
                yield Lookup(PHRASE, f'"{phrase}"', index.holding_phrase(phrase_of(phrase)))


def _phrase(text: str, words: Sequence[Token]) -> str:
    """The text of consecutive words; empty where punctuation or many stop words separate them, or one is no content word."""
    written = text[words[0].start : words[-1].end]
    gaps = words[-1].position - words[0].position + 1 - len(words)
    spelled = [lower(text[word.start : word.end]) for word in words]
    content = all(any(map(str.isalpha, word)) and word not in FUNCTION_WORDS for word in spelled)
    return "" if gaps > _WIDEST_GAP or not content or _PUNCTUATION.search(written) else " ".join(written.split())


def _two_words(index: WordIndex, source: Random) -> Iterator[Lookup]:
    for document in _rounds(index, source):
        stems = sorted({token.term for part in parts(document) for token in tokens(part)})
        usable = [stem for stem in stems if len(index.spellings[stem]) >= 3 and _is_content(index.spellings[stem])]
        if len(usable) >= 2:
            pair = source.sample(usable, 2)
            yield Lookup(TWO_WORDS, " ".join(index.spellings[stem] for stem in pair), index.holding(pair))
