"""Turn a query as typed into what the legs and the models read: words, other names, the opening of long texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from mappings.analysis.abbreviations import expansions
from mappings.analysis.words import joined_terms, terms
from mappings.clinical.placing import PRESENT
from mappings.clinical.reading import ConceptReader
from mappings.documents import clean
from mappings.fields import Field
from search.query import Filter, LexicalQuery, Phrase, Query
from search.understanding.aspects import after_subject, aspect_keywords, aspects_of, before_aspect
from search.understanding.codes import spell_codes
from search.understanding.criteria import Criterion, ReadQuery, read_query
from search.understanding.lookups import Asked, asked, phrase
from search.understanding.model_text import opening
from search.understanding.names import OtherNames, other_names
from search.understanding.syntax import Parsed, parse

MAX_TERMS = 128
"""How many distinct terms of a query are searched: the most frequent ones."""
EXPANSION_WEIGHT = 0.25
"""An expansion is a guess at what was meant: on training claims, BM25 got worse with a higher weight."""


class Expansion(NamedTuple):
    """An abbreviation in the query and its long form; the one that was not typed is searched as well."""

    short: str
    long: str


@dataclass(frozen=True, slots=True)
class Understanding:
    """How a query was understood: `lexical` for BM25, `model_text` for the models, `terms` to mark, `notes` for the caller.

    `names` is what it is also searched as: other names and the other forms of abbreviations. `asked` is what a short query
    asks for, one by one; `phrases` are required, `excluded` ruled out, `filters` typed. `criteria` are what documents must
    assert, `preferences` what those should that rank first, `aspects` the sections that can be meant, `section` the one that
    is, as typed, `unknown` the findings that name no concept and were searched as words.
    """

    lexical: LexicalQuery
    model_text: str
    terms: frozenset[str]
    expansions: tuple[Expansion, ...]
    notes: tuple[str, ...]
    asked: tuple[Asked, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    aspects: tuple[str, ...] = ()
    section: str = ""
    unknown: tuple[str, ...] = ()
    preferences: tuple[Criterion, ...] = ()
    names: tuple[OtherNames, ...] = ()

    @property
    def proven(self) -> tuple[Criterion, ...]:
        """What hits are shown a sentence for: the criteria, or else the preferences."""
        return self.criteria or self.preferences

    @property
    def has_only_names(self) -> bool:
        """Whether all criteria are names in the text that documents must say are present."""
        return bool(self.criteria) and all((item.source, item.assertion) == ("text", PRESENT) for item in self.criteria)


def understand(
    query: Query,
    fields: Mapping[str, Field] = MappingProxyType({}),
    reader: ConceptReader | None = None,
    reads_text: bool = False,
    name_weight: float = 0.0,
) -> Understanding:
    """Analyse a query; `fields` are those of its collection. Pure: the same query always gives the same result.

    With the `reader` of its documents, what it asks them to assert are criteria; its free text is read if `reads_text`, and
    what it ends with can name a section then. With a `name_weight`, other names of what it names are searched, too.
    """
    parsed = parse(clean(query.text), fields)
    query, read = _read(query, parsed.free, reader, reads_text) if reader else (query, ReadQuery())
    aspects = aspects_of(parsed.free if reads_text and not query.plain else "", query.aspect)
    text = " ".join(part for part in (parsed.text, clean(query.slots)) if part)
    counted = Counter(terms(text))
    as_typed = frozenset(tuple(terms(name)) for name in query.as_typed)
    found = tuple(_expansions(text, as_typed))
    others = _other_names(parsed, query, reader, as_typed) if reader and name_weight else ()
    phrases = [phrase(longer) for longer in _additions(text, found)]
    singles = {longer[0]: EXPANSION_WEIGHT for longer in phrases if len(longer) == 1 and longer[0] not in counted}
    weighted = {term: float(count) for term, count in counted.most_common(MAX_TERMS)} | singles
    things = _things(query, parsed, read, aspects if reads_text else ())
    lexical = LexicalQuery(
        terms=tuple(sorted(weighted.items())),
        phrases=tuple((longer, EXPANSION_WEIGHT) for longer in dict.fromkeys(phrases) if len(longer) > 1),
        wanted=tuple((phrase(typed),) for typed in parsed.phrases) or tuple(item.forms for item in things),
        named=_named(parsed, things, fields),
        excluded=tuple(phrase(typed) for typed in parsed.excluded),
        required=bool(parsed.phrases or parsed.ids),
        everything=query.everything or bool(read.criteria) or (bool(parsed.filters) and not (weighted or parsed.ids)),
        keywords=(*_proving(read), *aspect_keywords(aspects)),
        alternatives=tuple(item.alternatives(name_weight) for item in others),
    )
    return Understanding(
        lexical=lexical,
        model_text=_model_text(text, [term for finding in query.lacking for term in query.terms_of(finding)]),
        terms=frozenset((*weighted, *_terms_of((*phrases, *_alternative_phrases(lexical))))),
        expansions=found,
        notes=(*parsed.notes, *_notes(counted, query, reader is not None), *read.notes),
        asked=things,
        phrases=parsed.phrases,
        excluded=parsed.excluded,
        filters=(*parsed.filters, *(item.filter for item in read.criteria)),
        criteria=read.criteria,
        aspects=aspects,
        section=query.aspect or after_subject(parsed.free),
        unknown=read.unknown,
        preferences=read.preferences,
        names=_also(text, found, others),
    )


def _read(query: Query, free: str, reader: ConceptReader, reads_text: bool) -> tuple[Query, ReadQuery]:
    """The query with names in place of codes, and what it asks documents to assert, as it was typed."""
    spelled, notes = spell_codes(query, reader)
    read = read_query(query, free, reader, reads_text)
    return spelled, replace(read, notes=(*notes, *read.notes))


def _things(query: Query, parsed: Parsed, read: ReadQuery, aspects: tuple[str, ...]) -> tuple[Asked, ...]:
    """What a short query asks for. Of one that names a section, that is what it is about: the section need not say so."""
    if parsed.phrases or query.having or query.lacking or read.criteria:
        return ()
    if query.slots:
        return asked(clean(query.entity)) if aspects and query.entity.strip() and not parsed.free else ()
    return asked(before_aspect(parsed.free) if aspects else parsed.free)


def _expansions(text: str, as_typed: Set[tuple[str, ...]]) -> Iterator[Expansion]:
    """The abbreviations and long forms in `text`, without those that are searched as typed."""
    for pair in expansions(text.split()):
        if as_typed.isdisjoint(tuple(terms(form)) for form in pair):
            yield Expansion(*pair)


def _other_names(
    parsed: Parsed, query: Query, reader: ConceptReader, as_typed: Set[tuple[str, ...]]
) -> tuple[OtherNames, ...]:
    """Other names of what the opening of the text names; a phrase in quotes is searched as it is."""
    text = " ".join(part for part in (parsed.free, clean(query.slots)) if part)
    return other_names(opening(text), reader, as_typed)


def _alternative_phrases(lexical: LexicalQuery) -> Iterator[Phrase]:
    return (words for item in lexical.alternatives for words, _ in item.phrases)


def _terms_of(phrases: Iterable[Phrase]) -> Iterator[str]:
    """The terms of phrases; a place that any word can take is none."""
    return (term for longer in phrases for term in longer if term)


def _also(text: str, found: Sequence[Expansion], others: Sequence[OtherNames]) -> tuple[OtherNames, ...]:
    """What is searched beside what was typed, each name once in whatever case ("copd" as "COPD")."""
    added: dict[str, tuple[str, dict[str, None]]] = {}
    for pair in found:
        for form in _additions(text, (pair,)):
            typed = pair.long if form == pair.short else pair.short
            added.setdefault(typed.casefold(), (typed, {}))[1][form] = None
    for item in others:
        added.setdefault(item.typed.casefold(), (item.typed, {}))[1].update(dict.fromkeys(item.names))
    return tuple(OtherNames(typed, tuple(names)) for typed, names in added.values())


def _proving(read: ReadQuery) -> Iterator[tuple[str, str, float]]:
    """What lets passages that prove a criterion or a preference score in the lexical leg."""
    return (keyword for item in (*read.criteria, *read.preferences) for keyword in item.keywords)


def _named(parsed: Parsed, things: Sequence[Asked], fields: Mapping[str, Field]) -> tuple[tuple[str, str], ...]:
    """What can name a document: its id typed as such, or a single word, which may be the value of a field, too."""
    named = [("", value) for value in parsed.ids]
    text = parsed.free.strip()
    if (things or not parsed.phrases) and text and " " not in text:
        named.append(("", text))
        if any(map(str.isdigit, text)):
            named += [(name, text) for name, field in fields.items() if field.identifies]
    return tuple(named)


def _additions(text: str, found: tuple[Expansion, ...]) -> list[str]:
    """For each (short, long) pair, the form that was not typed."""
    typed = joined_terms(text)
    return [form for pair in found for form in pair if joined_terms(form) not in typed]


def _model_text(text: str, lacking: Sequence[str]) -> str:
    """The opening of a text for the models, and the findings that documents must not have, as words."""
    return " ".join([opening(text), *(f"no {finding}" for finding in lacking)]).strip()


def _notes(counted: Counter[str], query: Query, is_read: bool) -> tuple[str, ...]:
    notes = []
    if len(counted) > MAX_TERMS:
        notes.append(f"the text has {len(counted)} distinct terms: the {MAX_TERMS} most frequent were searched")
    if (query.having or query.lacking) and not is_read:
        notes.append("the documents of this index were not read: findings are searched as words, not as filters")
    return tuple(notes)
