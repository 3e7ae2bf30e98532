"""What is answered: the types of one page of results, as every door receives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mappings.documents import FieldValue
from search.protocols import LexicalQuery
from search.query import Facets, Total
from search.ranking.candidates import LegContribution


class Span(NamedTuple):
    """A part of a text to mark: character offsets."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence that carries the answer, with the matched words to mark; the marks' offsets are within `text`."""

    text: str
    start: int
    end: int
    score: float
    marks: tuple[Span, ...] = ()


class Expansion(NamedTuple):
    """An abbreviation of the query and its long form; the one that was not typed is searched, too."""

    short: str
    long: str


@dataclass(frozen=True, slots=True)
class Understanding:
    """How a query was read: `lexical` for BM25, `model_text` for the models, `terms` to mark, `notes` for the caller."""

    lexical: LexicalQuery
    model_text: str
    terms: frozenset[str]
    expansions: tuple[Expansion, ...]
    notes: tuple[str, ...]


class RerankContribution(NamedTuple):
    """What a cross-encoder adds to a final score: `contribution` = `weight` × `normalised`."""

    logit: float
    normalised: float | None
    weight: float
    contribution: float
    stage: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit stands where it stands: `fused` is the sum of the legs' contributions, `score` the sum of `final`."""

    legs: Mapping[str, LegContribution]
    fused: float
    reranker: RerankContribution | None
    final: Mapping[str, float]
    score: float
    matched_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found: its best passage, the evidence and, on request, its explanation.

    `more_passages` counts further passages of it; `others` are further documents of its group, such as of one patient.
    """

    document: str
    passage: str
    score: float
    title: str
    heading: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    title_marks: tuple[Span, ...] = ()
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    lexical: bool = True
    more_passages: int = 0
    others: tuple[str, ...] = ()
    explain: Explanation | None = None


@dataclass(frozen=True, slots=True)
class RerankCoverage:
    """How many of the rerank window's candidates were scored before the deadline."""

    scored: int
    candidates: int

    @property
    def is_partial(self) -> bool:
        """Whether the deadline came first."""
        return self.scored < self.candidates


@dataclass(frozen=True, slots=True)
class Results:
    """One page of an answer. `degraded` names, in plain words, everything that was missing.

    `feedback` names the passages that moved the query's vectors, where the collection searches twice.
    """

    hits: tuple[Hit, ...]
    total: Total
    facets: Facets
    timings_ms: Mapping[str, float]
    reranked: RerankCoverage
    understood: Understanding
    degraded: tuple[str, ...] = ()
    cursor: str | None = None
    index: str = ""
    beyond_window: bool = False
    feedback: tuple[str, ...] = ()
