"""Why a hit ranks where it does, in numbers that add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from encoders.discourse.reading import MOST_SENTENCES
from mappings.analysis.passages import passages
from mappings.analysis.sentences import sentences
from mappings.collection import DISCOURSE
from mappings.documents import Access, Document, parse_passage_id
from mappings.errors import MedleyError
from search.discourse.curve import DiscourseCurve, draw_curves
from search.discourse.leg import asked_slots
from search.pipeline.results import Explanation, Hit, RerankContribution
from search.pipeline.retrieve import Retrieved
from search.pipeline.services import SearchServices
from search.protocols import BM25
from search.query import Query
from search.ranking.candidates import Candidate, LegContribution

MOST_DRAWN: Final = 400
"""How many sentences of a page's hits are read for curves: the first hits that have so many, at least the first."""


def explain(candidate: Candidate, matched: Sequence[str], access: Access) -> Explanation:
    """Rank and score in each leg, the arithmetic of fusion and reranking, and the matched terms.

    A BM25 score counts how many documents of the whole index contain a word, hidden ones too: only callers who may see
    every document get it. The scores of the other legs depend on the query and the passage alone.
    """
    reranker = _rerank_contribution(candidate)
    return Explanation(
        legs={name: _known(name, leg, access) for name, leg in candidate.contributions.items()},
        fused=candidate.fused,
        reranker=reranker,
        final=_final(candidate, reranker),
        score=candidate.score,
        matched_terms=tuple(matched),
    )


def _known(name: str, leg: LegContribution, access: Access) -> LegContribution:
    return leg if access.everything or name != BM25 else leg._replace(score=None)


def _rerank_contribution(candidate: Candidate) -> RerankContribution | None:
    reranking, level = candidate.reranking, candidate.level
    if reranking is None or reranking.logit is None:
        return None
    weight = level.scale * reranking.weight
    # A later page computes `normalised` from a rounded score, so the sum could differ in the sixth place.
    contribution = min(weight * (reranking.normalised or 0.0), max(0.0, candidate.score - level.offset))
    return RerankContribution(reranking.logit, reranking.normalised, weight, contribution, reranking.stage)


def _final(candidate: Candidate, reranker: RerankContribution | None) -> dict[str, float]:
    """The parts that sum to the final score."""
    offset, share = candidate.level.offset, reranker.contribution if reranker else 0.0
    parts = {"fused": max(0.0, candidate.score - offset - share)}
    if reranker is not None:
        parts["reranker"] = share
    return parts | ({"level": offset} if offset else {})


def with_curves(hits: Sequence[Hit], retrieved: Retrieved, services: SearchServices) -> tuple[Hit, ...]:
    """The hits with the curves of the leg `discourse` in their explanations, where it was asked: the first hits alone."""
    encoder = services.discourse(retrieved.meta.encoders[DISCOURSE]) if retrieved.slots else None
    if encoder is None or retrieved.slots is None or services.store is None or not any(hit.explain for hit in hits):
        return tuple(hits)
    texts = dict(_first_texts(hits, retrieved, services))
    try:
        curves = dict(zip(texts, draw_curves([*texts.values()], retrieved.slots, encoder), strict=True))
    except MedleyError:
        return tuple(hits)
    return tuple(
        replace(hit, explain=replace(hit.explain, discourse=curves.get(hit.document))) if hit.explain else hit
        for hit in hits
    )


def _first_texts(
    hits: Sequence[Hit], retrieved: Retrieved, services: SearchServices
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The first hits' documents with the texts of their passages, as far as they are of the version that was found."""
    assert services.store is not None  # noqa: S101 - checked by the caller
    stored = services.store(retrieved.collection.name).latest([hit.document for hit in hits])
    left = MOST_DRAWN
    for number, hit in enumerate(hits):
        found = stored.get(hit.document)
        if found is None or found.document is None or found.version != parse_passage_id(hit.passage)[1]:
            continue
        texts = tuple(item.text for item in passages(found.document, found.version, retrieved.collection))
        left -= min(MOST_SENTENCES, sum(len(sentences(text)) for text in texts))
        if number and left < 0:
            return
        yield hit.document, texts


def draw_curve(query: Query, document: Document, version: int, services: SearchServices) -> DiscourseCurve | None:
    """The curve of one document for a query; None where a search would not ask the leg `discourse`, or has no model for it."""
    collection = services.collection(query.collection)
    meta = services.engine.resolve(query.collection)
    slots = asked_slots(query, collection, meta, services.reader(collection) if meta.reading else None)
    encoder = services.discourse(meta.encoders[DISCOURSE]) if slots else None
    if slots is None or encoder is None or not encoder.encode_query(*slots).any():
        return None
    return draw_curves([[item.text for item in passages(document, version, collection)]], slots, encoder)[0]
