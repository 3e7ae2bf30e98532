"""Queries, and the rankings, totals and facets that engines answer with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from operator import gt, itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeVar

from mappings.bundles import TermBundle, bundle_reference
from mappings.clinical.cue_rules import ASSERTIONS
from mappings.documents import Access
from mappings.errors import InvalidInput

MAX_QUERY_CHARACTERS = 10_000
MAX_PAGE_SIZE = 100
NOT_PRESENT: Final = "not-present"
ABSENCES: Final = (NOT_PRESENT, "ruled-out")
"""What `without` can mean: that a document does not say that something is present, or that it rules it out."""

_STATED: Final = re.compile(rf"\s*({'|'.join(ASSERTIONS)}):\s*(.+)", re.DOTALL)


def stated_finding(text: str) -> tuple[str, str]:
    """("ruled-out", "effusion") of `ruled-out:effusion`: what documents must assert, and of what; ("", `text`) of any other."""
    found = _STATED.fullmatch(text)
    return (found[1], found[2].strip()) if found else ("", text)


@dataclass(frozen=True, slots=True)
class Terms:
    """Keep documents whose keyword field `name` has one of `values`."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Keep documents whose number or date field `name` is between the bounds, both included; None means no bound."""

    name: str
    low: float | date | None = None
    high: float | date | None = None


@dataclass(frozen=True, slots=True)
class NoneOf:
    """Keep documents whose keyword field `name` has none of `values`."""

    name: str
    values: tuple[str, ...]


Filter = Terms | Range | NoneOf


class QueryVector(NamedTuple):
    """A vector that the caller of a search brings, for the vector field `name`.

    `encoder` is the fingerprint of the model that made it, which must be that of the field; `values` are of any length but 0.
    """

    name: str
    encoder: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """One search by one caller; its names of fields are checked against the collection when the search starts.

    `text` is free text, `entity` and `aspect` are slots, `having` and `lacking` are concepts that documents must assert or
    must not (`ruled-out:effusion` in `having`: with this assertion); `absence` (one of `ABSENCES`) says what the latter
    means. With `plain` the text is searched as words only, also if it says of something that it is absent. What is named by
    one of `as_typed` is searched by no other name. With `everything`, every document that passes the filters matches, and
    text and slots, which can be empty then, only decide on the order. `vectors` are searched instead of those of the text.
    `cursor` asks for a later page. `deadline_ms` is the time for reranking: None for the collection's own, 0 for none. With
    `stances`, what hits say of the text is read where the kind has a model for it. `bundles` has the bundle for each name
    that a finding `bundle:NAME` gives. A query can't be built without `access`.
    """

    collection: str
    access: Access
    text: str = ""
    entity: str = ""
    aspect: str = ""
    having: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()
    size: int = 10
    cursor: str | None = None
    sort: str = "relevance"
    explain: bool = False
    rerank: bool = True
    deadline_ms: int | None = None
    stances: bool = True
    absence: Literal["not-present", "ruled-out"] = NOT_PRESENT
    plain: bool = False
    as_typed: tuple[str, ...] = ()
    bundles: tuple[tuple[str, TermBundle], ...] = ()
    everything: bool = False
    vectors: tuple[QueryVector, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.access, Access):
            raise TypeError("a Query needs the Access of its caller")
        if not (self.everything or self.vectors or self.words.strip() or any(map(str.strip, self.lacking))):
            raise InvalidInput("the query is empty: give a text, or an entity or aspect, or findings", field="text")
        if self.absence not in ABSENCES:
            raise InvalidInput(f"absence is {self.absence!r}; it must be one of {', '.join(ABSENCES)}", field="absence")
        if len(self.words) > MAX_QUERY_CHARACTERS:
            raise InvalidInput(
                f"the query has {len(self.words):,} characters; at most {MAX_QUERY_CHARACTERS:,} are allowed",
                field="text",
            )
        if not 1 <= self.size <= MAX_PAGE_SIZE:
            raise InvalidInput(f"size is {self.size}; it must be between 1 and {MAX_PAGE_SIZE}", field="size")

    @property
    def slots(self) -> str:
        """Slots and findings that should be present, as one text."""
        findings = (term for text in self.having for term in self.terms_of(stated_finding(text)[1]))
        return " ".join(part for part in (self.entity, self.aspect, *findings) if part)

    def bundle(self, finding: str) -> TermBundle | None:
        """The bundle that a finding names; None for any other finding."""
        return dict(self.bundles).get(bundle_reference(finding))

    def terms_of(self, finding: str) -> tuple[str, ...]:
        """The terms of the bundle that a finding names, or the finding."""
        found = self.bundle(finding)
        return found.terms if found else (finding,)

    @property
    def words(self) -> str:
        """Text, slots and findings that should be present, as one text."""
        return f"{self.text} {self.slots}".strip()


PROVES: Final = "proves"
"""The passages' keywords of what they assert, of wider concepts too: keys `concept|assertion`."""

ASPECT: Final = "aspect"
"""The passages' keyword of what their section is about, in the vocabulary of headings."""

Phrase = tuple[str, ...]
"""Index terms in order. An empty one holds the position of a stop word, as positions in an index do: ("short", "", "breath")."""


class NameAlternatives(NamedTuple):
    """Terms that name one thing, and its other names with their weights: a passage scores by whichever gives most."""

    typed: tuple[str, ...]
    phrases: tuple[tuple[Phrase, float], ...]


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """An analysed text query: index terms and phrases of index terms, each with its weight.

    Analysis happens once, in Python, for every engine. `keywords` add a constant each to the score of the passages that
    have them: (`PROVES` or `ASPECT`, value, weight). A document *holds* the query if it has a form of everything
    `wanted`, each given by its forms, or if it is `named`: by a keyword field and its value, or by its id, for which the
    field is "". With `required`, totals and facets count holders alone. Documents that have an `excluded` phrase count as
    absent. With `everything`, every document matches, and what else scores decides on the order. `alternatives` are other
    names of what some of the terms name; a document that has one of these matches.
    """

    terms: tuple[tuple[str, float], ...]
    phrases: tuple[tuple[Phrase, float], ...] = ()
    wanted: tuple[tuple[Phrase, ...], ...] = ()
    named: tuple[tuple[str, str], ...] = ()
    excluded: tuple[Phrase, ...] = ()
    required: bool = False
    everything: bool = False
    keywords: tuple[tuple[str, str, float], ...] = ()
    alternatives: tuple[NameAlternatives, ...] = ()


class Scored(NamedTuple):
    """A passage with its score in one ranking. A tuple, because every search creates hundreds."""

    passage: str
    document: str
    score: float


_BY_PASSAGE: Final = itemgetter(0)
_DOCUMENT: Final = itemgetter(1)
_BY_SCORE: Final = itemgetter(2)
Item = TypeVar("Item", bound="tuple[Any, ...]")


def in_order(items: Iterable[Item]) -> list[Item]:
    """Tuples (passage, document, score, …) sorted by score descending, then by passage id.

    Engines mostly return them by score and without ties: this is checked first and needs no sorting.
    """
    ordered = list(items)
    scores = list(map(_BY_SCORE, ordered))
    if not all(map(gt, scores, islice(scores, 1, None))):
        ordered.sort(key=_BY_PASSAGE)
        ordered.sort(key=_BY_SCORE, reverse=True)  # stable: ties stay by passage
    return ordered


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[Scored]):
    """Passages by score descending, then by passage id. The constructor sorts."""

    items: tuple[Scored, ...]

    def __init__(self, items: Iterable[Scored]) -> None:
        object.__setattr__(self, "items", tuple(in_order(items)))

    def first(self, count: int | None) -> Ranking:
        """The ranking of the best `count` items; None means all."""
        cut = object.__new__(Ranking)  # already sorted
        object.__setattr__(cut, "items", self.items[:count])
        return cut

    def holding(self, documents: int) -> int | None:
        """How many leading items it takes to have `documents` distinct documents; None if there are fewer documents."""
        if len(set(map(_DOCUMENT, self.items))) == len(self.items):  # one passage per document
            return documents if documents <= len(self.items) else None
        seen: set[str] = set()
        for position, (_, document, _) in enumerate(self.items, 1):
            seen.add(document)
            if len(seen) == documents:
                return position
        return None

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]


@dataclass(frozen=True, slots=True)
class Total:
    """How many documents match lexically under the filters; `relation` is `exact`, `at_least` or `at_most`."""

    value: int
    relation: str = "exact"


YEARLY: Final = ":year"
"""After the name of a date field, as a facet: how many documents each year has."""


def counted_field(facet: str) -> str:
    """The field that a facet counts: `date` of `date` and of `date:year`."""
    return facet.removesuffix(YEARLY)


@dataclass(frozen=True, slots=True)
class FacetCount:
    """One value of a facet and the number of matching documents that have it."""

    value: str
    count: int


Facets = Mapping[str, tuple[FacetCount, ...]]
