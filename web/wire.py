"""What is sent back, as JSON: the one form of answers over HTTP and on the command line, and its schema."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mappings.collection import Collection
from mappings.documents import FieldValue
from search.pipeline.results import Evidence, Explanation, Hit, Results, Span
from search.storage import StoredDocument

Value = str | float | list[str]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EvidenceJson(_Wire):
    """A sentence that carries the answer. `start` and `end` are character offsets in the hit's `text`, `marks` in this one."""

    model_config = ConfigDict(extra="forbid", title="Evidence")

    text: str
    start: int
    end: int
    score: float
    marks: list[tuple[int, int]]


class HitJson(_Wire):
    """A found document: its best passage, the evidence in it and, when asked for, why it stands here."""

    model_config = ConfigDict(extra="forbid", title="Hit")

    document: str
    passage: str
    score: float
    title: str
    title_marks: list[tuple[int, int]]
    heading: str
    text: str
    evidence: list[EvidenceJson]
    fields: dict[str, Value]
    lexical: bool = Field(description="false: no word of the query was found, only the meaning is near")
    more_passages: int = Field(description="further passages of the same document that were found")
    others: list[str] = Field(description="further documents of the same group that were found, as of one patient")
    explain: dict[str, Any] | None


class TotalJson(_Wire):
    """How many documents match lexically under the filters."""

    model_config = ConfigDict(extra="forbid", title="Total")

    value: int
    relation: Literal["exact", "at_least"]


class FacetJson(_Wire):
    """A value of a field, and how many matching documents carry it."""

    model_config = ConfigDict(extra="forbid", title="FacetCount")

    value: str
    count: int


class RerankedJson(_Wire):
    """How many of the candidates the cross-encoder scored before its deadline."""

    model_config = ConfigDict(extra="forbid", title="Reranked")

    scored: int
    candidates: int


class SearchAnswer(_Wire):
    """One page of an answer. `degraded` names in plain words every part that was missing."""

    hits: list[HitJson]
    total: TotalJson
    facets: dict[str, list[FacetJson]]
    timings_ms: dict[str, float]
    degraded: list[str]
    reranked: RerankedJson
    cursor: str | None = Field(description="send it back with the same search to get the next page")
    index: str
    beyond_window: bool = Field(description="past the reranked window: the fused order goes on")
    understood: dict[str, Any]


class BatchAnswer(_Wire):
    """The answers, in the order of the searches."""

    answers: list[SearchAnswer]


class SectionJson(_Wire):
    """A part of a document under one heading; the heading may be empty."""

    model_config = ConfigDict(extra="forbid", title="Section")

    heading: str
    text: str


class DocumentAnswer(_Wire):
    """The newest version of a document."""

    document: str
    collection: str
    version: int
    title: str
    sections: list[SectionJson]
    fields: dict[str, Value]


class FieldJson(_Wire):
    """A field that can be filtered by and, when `facet`, counted."""

    model_config = ConfigDict(extra="forbid", title="Field")

    name: str
    title: str
    type: Literal["keyword", "number", "date"]
    facet: bool


class CollectionJson(_Wire):
    """A collection and what can be asked of it."""

    model_config = ConfigDict(extra="forbid", title="Collection")

    name: str
    title: str
    kind: str
    group_by: str
    fields: list[FieldJson]
    sorts: list[str]


class CollectionsAnswer(_Wire):
    """Every collection here."""

    collections: list[CollectionJson]


class ErrorBody(_Wire):
    """What is wrong: a stable code, one clear message and, where there is one, the field at fault."""

    model_config = ConfigDict(extra="forbid", title="ErrorDetail")

    code: str
    message: str
    field: str | None


class ErrorAnswer(_Wire):
    """The one form of every error."""

    model_config = ConfigDict(extra="forbid", title="Error")

    error: ErrorBody


def results_as_json(results: Results) -> dict[str, Any]:
    """`results` in the form of `SearchAnswer`."""
    return {
        "hits": [_hit(hit) for hit in results.hits],
        "total": {"value": results.total.value, "relation": results.total.relation},
        "facets": {
            name: [{"value": item.value, "count": item.count} for item in counts]
            for name, counts in results.facets.items()
        },
        "timings_ms": dict(results.timings_ms),
        "degraded": list(results.degraded),
        "reranked": {"scored": results.reranked.scored, "candidates": results.reranked.candidates},
        "cursor": results.cursor,
        "index": results.index,
        "beyond_window": results.beyond_window,
        "understood": _understood(results),
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "document": hit.document,
        "passage": hit.passage,
        "score": hit.score,
        "title": hit.title,
        "title_marks": _spans(hit.title_marks),
        "heading": hit.heading,
        "text": hit.text,
        "evidence": [_evidence(item) for item in hit.evidence],
        "fields": fields_as_json(hit.fields),
        "lexical": hit.lexical,
        "more_passages": hit.more_passages,
        "others": list(hit.others),
        "explain": None if hit.explain is None else _explanation(hit.explain),
    }


def _understood(results: Results) -> dict[str, Any]:
    understanding = results.understood
    found: dict[str, Any] = {
        "text": understanding.model_text,
        "terms": [term for term, _ in understanding.lexical.terms],
        "expansions": [item._asdict() for item in understanding.expansions],
        "notes": list(understanding.notes),
    }
    return found | ({"feedback": list(results.feedback)} if results.feedback else {})


def _explanation(why: Explanation) -> dict[str, Any]:
    return {
        "legs": {name: {**leg._asdict(), "contribution": leg.contribution} for name, leg in why.legs.items()},
        "fused": why.fused,
        "reranker": why.reranker._asdict() if why.reranker else None,
        "final": dict(why.final),
        "score": why.score,
        "matched_terms": list(why.matched_terms),
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {"text": item.text, "start": item.start, "end": item.end, "score": item.score, "marks": _spans(item.marks)}


def _spans(spans: tuple[Span, ...]) -> list[list[int]]:
    return [[span.start, span.end] for span in spans]


def fields_as_json(fields: Mapping[str, FieldValue]) -> dict[str, Any]:
    """Field values as JSON: dates as `YYYY-MM-DD`, several keywords as a list, whole numbers without a point."""
    return {name: _value(value) for name, value in fields.items()}


def _value(value: FieldValue) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value


def document_as_json(collection: str, stored: StoredDocument) -> dict[str, Any]:
    """A stored document that is no tombstone, in the form of `DocumentAnswer`. Its labels stay unsaid."""
    if stored.document is None:
        raise ValueError("a tombstone has no document to show")
    return {
        "document": stored.id,
        "collection": collection,
        "version": stored.version,
        "title": stored.document.title,
        "sections": [{"heading": section.heading, "text": section.text} for section in stored.document.sections],
        "fields": fields_as_json(stored.document.fields),
    }


def collection_as_json(collection: Collection, sorts: tuple[str, ...]) -> dict[str, Any]:
    """A collection in the form of `CollectionJson`."""
    fields = collection.fields.values()
    return {
        "name": collection.name,
        "title": collection.title,
        "kind": collection.kind,
        "group_by": collection.group_by,
        "fields": [{"name": item.name, "title": item.title, "type": item.type, "facet": item.facet} for item in fields],
        "sorts": list(sorts),
    }
