"""The page as its reader gets it: hits with their evidence, fields and explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mappings.documents import FieldValue, Passage
from mappings.errors import MedleyError
from search.pipeline import evidence, explain
from search.pipeline.context import Found, Parts, Trace, deadline
from search.pipeline.grouping import Group
from search.pipeline.paging import Shown, next_cursor
from search.pipeline.understanding import Understood
from search.query import Evidence, Hit, Query, Results

CHOICES = 3
"""Sentences of a passage that words choose and the cross-encoder decides between."""


def page(query: Query, parts: Parts, found: Found, groups: Sequence[Group], shown: Shown, trace: Trace) -> Results:
    """The first `query.size` of `groups` as hits, and a cursor for the rest.

    A passage that is gone by now, or not the caller's to see, is left out.
    """
    index = found.meta.index
    first, rest = groups[: query.size], groups[query.size :]
    texts = parts.engine.passages(index, [item.best.fused.passage for item in first], query.access)
    present = [item for item in first if item.best.fused.passage in texts]
    fields = parts.engine.fields(index, [item.best.fused.document for item in present], query.access)
    trace.step("fetch")
    passages = [texts[item.best.fused.passage] for item in present]
    proofs = _evidence(query, parts, found, passages, trace)
    hits = tuple(
        _hit(query, found.understood, item, passage, fields.get(passage.document, {}), proof)
        for item, passage, proof in zip(present, passages, proofs, strict=True)
    )
    trace.step("evidence")
    return Results(
        hits=hits,
        total=found.answer.total,
        facets=found.answer.facets,
        timings_ms=trace.finish(),
        reranked=shown.reranked,
        degraded=tuple(trace.degraded),
        cursor=next_cursor(query, found, first, rest, shown, parts.key),
        index=index,
        beyond_window=shown.beyond,
        understood=_understood(found.understood, found.feedback),
    )


def _understood(understood: Understood, feedback: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "text": understood.model_text,
        "terms": [term for term, _ in understood.lexical.terms],
        "expansions": [{"short": short, "long": longer} for short, longer in understood.expansions],
        "notes": list(understood.notes),
    }
    return found | ({"feedback": list(feedback)} if feedback else {})


def _evidence(
    query: Query, parts: Parts, found: Found, passages: Sequence[Passage], trace: Trace
) -> list[tuple[Evidence, ...]]:
    """For each passage the sentences to show: by the cross-encoder while time is left, by words otherwise."""
    weights = evidence.rarity([passage.text for passage in passages], found.understood.terms)
    choices = [evidence.candidates(passage.text, weights, CHOICES) for passage in passages]
    until = deadline(query, parts, found.collection, trace)
    try:
        stages = parts.reranker(found.collection) if query.rerank and until is not None else None
        if stages is None:
            return [evidence.best(choice) for choice in choices]
        texts = [item.text for choice in choices for item in choice]
        scores = stages.last.score(found.understood.model_text, texts, until)
    except MedleyError:
        return [evidence.best(choice) for choice in choices]
    return _decided(choices, scores)


def _decided(choices: Sequence[Sequence[Evidence]], scores: Sequence[float | None]) -> list[tuple[Evidence, ...]]:
    proofs, position = [], 0
    for choice in choices:
        own = [score for score in scores[position : position + len(choice)] if score is not None]
        proofs.append(evidence.best(choice, own if len(own) == len(choice) else None))
        position += len(choice)
    return proofs


def _hit(
    query: Query,
    understood: Understood,
    item: Group,
    passage: Passage,
    fields: Mapping[str, FieldValue],
    proof: tuple[Evidence, ...],
) -> Hit:
    return Hit(
        document=passage.document,
        passage=passage.id,
        score=item.best.score,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        evidence=proof,
        title_marks=evidence.marks(passage.title, understood.terms),
        fields=dict(fields),
        lexical="bm25" in item.best.fused.parts,
        more_passages=sum(other.fused.document == passage.document for other in item.others),
        others=tuple(name for name in item.documents if name != passage.document),
        explain=explain.explain(item.best, _matched(passage, understood.terms)) if query.explain else None,
    )


def _matched(passage: Passage, terms: frozenset[str]) -> list[str]:
    text = f"{passage.title}\n{passage.heading}\n{passage.text}"
    return sorted({text[span.start : span.end].lower() for span in evidence.marks(text, terms)})
