"""The JSON shapes of search answers, over HTTP and on the command line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from mappings.collection import Collection
from search.pipeline.document_stance import DocumentStance
from search.pipeline.results import Results, Span
from web.understanding_answers import UnderstandingJson
from web.wire import INVENTED, FieldValueJson, WireModel


def _offsets(span: Any) -> Any:
    return (
        tuple(span) if isinstance(span, list | Span) else span
    )  # strict validation rejects a list where a tuple is declared


Mark = Annotated[tuple[int, int], BeforeValidator(_offsets)]
"""(start, end) in characters."""


class EvidenceJson(WireModel):
    """A sentence that supports the answer.

    `start` and `end` are character offsets in the hit's `text`; `marks` are offsets in this sentence's `text`.
    """

    model_config = ConfigDict(title="Evidence")

    text: str
    start: int
    end: int
    score: float
    marks: list[Mark]


class LegJson(WireModel):
    """What a leg contributes to the fused score: `contribution` = `weight` × `normalised`. Ranks start at 1."""

    model_config = ConfigDict(title="LegContribution")

    rank: int
    score: float | None = Field(
        description="null for `bm25` unless the caller may see every document: it would tell how many contain a word"
    )
    normalised: float
    weight: float
    contribution: float


class RerankerJson(WireModel):
    """What a reranker contributes to the final score: `contribution` = `weight` × `normalised`.

    `weight` is its share of the whole score; `stage` is `last`, or `first` for the first of two stages.
    """

    model_config = ConfigDict(title="RerankContribution")

    logit: float
    normalised: float | None
    weight: float
    contribution: float
    stage: str


class CurvePointJson(WireModel):
    """A sentence in its place: the number of its passage, and its cosines with each slot and with both."""

    model_config = ConfigDict(title="CurvePoint")

    passage: int
    entity: float | None
    aspect: float | None
    whole: float
    text: str


class CurveJson(WireModel):
    """How near each sentence of a document is to an entity and an aspect; `left_out` counts those that are not read."""

    model_config = ConfigDict(title="DiscourseCurve")

    entity: str
    aspect: str
    points: list[CurvePointJson]
    left_out: int


class ExplanationJson(WireModel):
    """How a score was computed: `fused` is the sum of the legs' contributions, `score` the sum of `final`.

    Of `final`, `fused` and `reranker` say what each adds, and `level` what every hit of the same level gets: hits that were
    read more closely, or that are of a better tier, have a higher level. No part is negative.
    """

    model_config = ConfigDict(title="Explanation")

    legs: dict[str, LegJson]
    fused: float
    reranker: RerankerJson | None
    final: dict[str, float]
    score: float
    matched_terms: list[str]
    discourse: CurveJson | None = Field(
        None, description="where the leg `discourse` was asked: its curve over the document, of the first hits alone"
    )


class ProofJson(WireModel):
    """The sentence that proves a criterion. `start` and `end` are offsets in its passage, `mark` in this `text`."""

    model_config = ConfigDict(title="Proof")

    passage: str
    heading: str
    text: str
    start: int
    end: int
    concept: str
    assertion: str
    mark: Mark


class StanceJson(WireModel):
    """What a passage says of the text that was searched, and how probable that is; it decides nothing about the claim."""

    model_config = ConfigDict(title="Stance")

    label: Literal["supports", "refutes", "neither"]
    probability: float


class HitJson(WireModel):
    """A document that was found: its best passage, the evidence in it and, on request, an explanation of its score."""

    model_config = ConfigDict(title="Hit")

    document: str
    passage: str
    score: float
    title: str
    title_marks: list[Mark]
    heading: str
    text: str
    evidence: list[EvidenceJson]
    fields: dict[str, FieldValueJson]
    lexical: bool = Field(description="false: found by its vectors alone; no query term matches")
    more_passages: int = Field(description="how many further passages of the same document were found")
    others: list[str] = Field(
        description="further documents of the same group (such as the same patient) that were found"
    )
    meanings: list[str] = Field(
        description="of an ambiguous abbreviation in the query: those that the passage spells out"
    )
    proofs: list[ProofJson | None] = Field(
        description="for each of the criteria, or else of the preferences, the sentence that proves it; null where the document "
        "does not mention it"
    )
    badges: list[str] = Field(
        description="of a publication: warnings (`retracted`, `expression of concern`, `retraction notice`, `preprint`), its "
        "design, and what was studied instead of people"
    )
    stance: StanceJson | None = Field(
        description="null where it was not read: the collection has no model for that, words were looked up, or time was short"
    )
    probability: float | None = Field(
        description="that the document answers the query, calibrated; null where it can't be told"
    )
    explain: ExplanationJson | None


class TotalJson(WireModel):
    """How many documents match lexically under the filters."""

    model_config = ConfigDict(title="Total")

    value: int
    relation: Literal["exact", "at_least", "at_most"]


class FacetJson(WireModel):
    """A value of a field, and how many matching documents have it."""

    model_config = ConfigDict(title="FacetCount")

    value: str
    count: int


class RerankedJson(WireModel):
    """How many of the candidates the rerankers scored before the deadline."""

    model_config = ConfigDict(title="Reranked")

    scored: int = Field(description="candidates that any stage scored")
    candidates: int
    closely: int = Field(description="candidates that the last stage scored")
    wanted: int = Field(description="candidates that the last stage was given")


class AnswerableJson(WireModel):
    """Whether the documents answer the query at all, as far as that can be told."""

    model_config = ConfigDict(title="Answerable")

    probability: float | None = Field(
        description="that any hit of the first page answers the query, calibrated; null where it can't be told"
    )
    missing: list[str] = Field(
        description="words of the query, as typed, that no document which the caller may see holds, by this or another name; looked "
        "for on the first page, in collections of 1,000 documents and more"
    )


class SearchAnswer(WireModel):
    """One page of an answer.

    `degraded` lists in plain words what failed or is missing, `partial` what was left out because time was short.
    """

    hits: list[HitJson]
    total: TotalJson
    facets: dict[str, list[FacetJson]]
    timings_ms: dict[str, float]
    degraded: list[str]
    partial: list[str]
    reranked: RerankedJson
    cursor: str | None = Field(description="send it with the same search to get the next page")
    index: str
    invented: bool = Field(description=INVENTED)
    beyond_window: bool = Field(description="these hits are past the result window, in fused order")
    understood: UnderstandingJson
    answerable: AnswerableJson

    @classmethod
    def of(cls, results: Results, collection: Collection) -> SearchAnswer:
        """Build from one page of results in a collection."""
        return cls(
            hits=[HitJson.model_validate(hit) for hit in results.hits],
            total=TotalJson.model_validate(results.total),
            facets={
                name: [FacetJson.model_validate(item) for item in counts] for name, counts in results.facets.items()
            },
            timings_ms=dict(results.timings_ms),
            degraded=list(results.degraded),
            partial=list(results.partial),
            reranked=RerankedJson.model_validate(results.reranked),
            cursor=results.cursor,
            index=results.index,
            invented=collection.invented,
            beyond_window=results.beyond_window,
            understood=UnderstandingJson.of(results),
            answerable=AnswerableJson(probability=results.probability, missing=list(results.missing)),
        )


class StanceAnswer(WireModel):
    """What a document says of a claim, in the passage that says most; it decides nothing about the claim.

    `evidence` are the sentences that the stance rests on, with offsets in the passage's `text`.
    """

    document: str
    collection: str
    invented: bool = Field(description=INVENTED)
    stance: StanceJson
    passage: str
    heading: str
    text: str
    evidence: list[EvidenceJson]
    read: int = Field(description="how many passages of the document were read")
    passages: int

    @classmethod
    def of(cls, found: DocumentStance, collection: Collection) -> StanceAnswer:
        """Build from what was read in a document of a collection."""
        return cls(
            document=found.passage.document,
            collection=collection.name,
            invented=collection.invented,
            stance=StanceJson.model_validate(found.stance),
            passage=found.passage.id,
            heading=found.passage.heading,
            text=found.passage.text,
            evidence=[EvidenceJson.model_validate(item) for item in found.evidence],
            read=found.read,
            passages=found.passages,
        )


class BatchAnswer(WireModel):
    """The answers, in the order of the searches."""

    answers: list[SearchAnswer]
