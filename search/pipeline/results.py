"""The types of one page of results, as command line, API and pages receive them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mappings.documents import FieldValue
from mappings.stances import Stance, is_sure
from mappings.studies.badges import values_of
from mappings.studies.description import BADGES
from search.discourse.curve import DiscourseCurve
from search.query import Facets, Total
from search.ranking.answers import AnswerSigns
from search.ranking.candidates import LegContribution
from search.understanding.understand import Understanding


class Span(NamedTuple):
    """A range of a text to mark, in character offsets."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence that best matches the query. `start` and `end` are offsets in the passage, those of `marks` in `text`."""

    text: str
    start: int
    end: int
    score: float
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """The sentence that proves a criterion, and what it asserts of which concept.

    `start` and `end` are offsets in the passage, those of `mark` in `text`.
    """

    passage: str
    heading: str
    text: str
    start: int
    end: int
    concept: str
    assertion: str
    mark: Span


class HitStance(NamedTuple):
    """What a hit says of the query: the most probable stance, with its probability.

    `answers` is the probability that the hit answers the query; None where that can't be told.
    """

    label: Stance
    probability: float
    answers: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether it is told without "perhaps"."""
        return is_sure(self.label, self.probability, self.answers)


class RerankContribution(NamedTuple):
    """What a cross-encoder adds to a final score: `contribution` = `weight` × `normalised`, both in [0, 1].

    `weight` is its share of the whole score, of which a level is only a part.
    """

    logit: float
    normalised: float | None
    weight: float
    contribution: float
    stage: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit ranks where it does: `fused` is the sum of the legs' contributions, `score` the sum of `final`.

    Of `final`, `fused` and `reranker` say what each adds, and `level` what every hit of the same level gets. `discourse` is
    how near the sentences of the document are to what the leg of that name was asked; None where it was not drawn.
    """

    legs: Mapping[str, LegContribution]
    fused: float
    reranker: RerankContribution | None
    final: Mapping[str, float]
    score: float
    matched_terms: tuple[str, ...]
    discourse: DiscourseCurve | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found: its best passage, the evidence and, on request, its explanation.

    `lexical`: whether words of the query match, not only vectors. `more_passages` counts further passages of the document;
    `others` are further documents of its group, such as those of one patient, or another version of the same work.
    `meanings` are those that the passage spells out of an abbreviation in the query that has several. `proofs` has an item
    for each criterion of the query: None where the document does not mention it. `stance` is None where it was not read,
    `signs` and `probability` (that the hit answers the query) where that can't be told.
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
    meanings: tuple[str, ...] = ()
    proofs: tuple[Proof | None, ...] = ()
    stance: HitStance | None = None
    signs: AnswerSigns | None = None
    probability: float | None = None
    explain: Explanation | None = None

    @property
    def badges(self) -> tuple[str, ...]:
        """What kind of study a publication reports, and warnings of what became of it; see `mappings.studies.badges`."""
        return values_of(self.fields, BADGES)


@dataclass(frozen=True, slots=True)
class RerankCoverage:
    """How many of the rerank window's candidates any stage scored before the deadline.

    The last stage scored `closely` of the `wanted` that it was given, which are all candidates if there is one stage only.
    """

    scored: int = 0
    candidates: int = 0
    closely: int = 0
    wanted: int = 0

    @property
    def is_partial(self) -> bool:
        """Whether some candidates were not scored, or fewer by the last stage than it was given."""
        return self.scored < self.candidates or self.closely < self.wanted

    @property
    def in_words(self) -> str:
        """How far reranking came."""
        if self.scored < self.candidates and self.closely < self.scored:
            return f"{_share(self.scored, self.candidates)} read, {self.closely or 'none'} of them closely"
        if self.scored < self.candidates:
            return f"{_share(self.scored, self.candidates)} read closely"
        return f"{_share(self.closely, self.wanted)} read closely"


def _share(read: int, of: int) -> str:
    return f"{read or 'none'} of {of} passages {'was' if read < 2 else 'were'}"


@dataclass(frozen=True, slots=True)
class Results:
    """One page of an answer.

    `degraded` says in plain words everything that failed or was missing, `partial` what was left out because time was
    short. `cursor` leads to the next page. `beyond_window`: the page lies beyond the result window, in fused order.
    `feedback` names the passages that moved the query's vectors, if the collection uses feedback; `missing` the words of the
    query that no document holds, and `probability` that any hit answers it (both of the first page only).
    """

    hits: tuple[Hit, ...]
    total: Total
    facets: Facets
    timings_ms: Mapping[str, float]
    reranked: RerankCoverage
    understood: Understanding
    degraded: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    cursor: str | None = None
    index: str = ""
    beyond_window: bool = False
    feedback: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    probability: float | None = None
