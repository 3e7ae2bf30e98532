"""coverage@10: how many of the first ten hits hold the words of a look-up, out of as many as there can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from evaluation.stages import ACCESS, BM25, FUSED, RERANKED, check_whole, distinct
from evaluation.suites.lookups.queries import Lookup
from mappings.collection import Collection
from mappings.documents import Document
from search.bootstrap import Medley
from search.pipeline.grouping import group_key
from search.pipeline.retrieve import retrieve
from search.pipeline.search import search
from search.pipeline.services import Trace
from search.query import Query
from search.ranking.cascade import RerankStages

DEPTH: Final = 10
MEASURE: Final = f"coverage@{DEPTH}"
Step = Callable[[], None]
"""Called after each query."""


@dataclass(frozen=True, slots=True)
class HitGroups:
    """How a collection forms hits: one for each document, or one for the documents that share a field, such as a patient.

    `keys` maps a document to its hit.
    """

    keys: Mapping[str, str]

    @classmethod
    def of(cls, documents: Iterable[Document], collection: Collection) -> HitGroups:
        """The hits of these documents; one without the field is a hit by itself."""
        fields = {item.id: item.fields for item in documents}
        return cls({identifier: group_key(fields, collection.group_by, identifier) for identifier in fields})

    def shown(self, documents: Iterable[str]) -> list[str]:
        """Of documents by rank, the one that each hit shows: its best."""
        first: dict[str, str] = {}
        for identifier in documents:
            first.setdefault(self.keys.get(identifier, identifier), identifier)
        return list(first.values())

    def number(self, documents: Iterable[str]) -> int:
        """How many hits these documents can be."""
        return len({self.keys[identifier] for identifier in documents})


def coverage(shown: Sequence[str], holders: frozenset[str], groups: HitGroups) -> float:
    """Of the first ten hits, the number whose shown document is a holder, divided by ten.

    If fewer than ten hits can show one, it is divided by as many: the recall. A missing hit counts as one that holds
    nothing. `holders` has at least one document.
    """
    held = sum(identifier in holders for identifier in shown[:DEPTH])
    return held / min(DEPTH, groups.number(holders))


def measure(
    medley: Medley, name: str, lookups: Sequence[Lookup], groups: HitGroups, rerankers: RerankStages | None, step: Step
) -> dict[str, list[float]]:
    """System → the coverage of each look-up, in order: `bm25`, `fused` and, with rerankers, `reranked`.

    The first two are what retrieval hands on, grouped into hits; the last is the first page of a search without a
    deadline. Raises `Unavailable` for a degraded answer.
    """
    found: dict[str, list[float]] = {}
    for lookup in lookups:
        for system, documents in _rank(medley, name, lookup.text, rerankers).items():
            found.setdefault(system, []).append(coverage(groups.shown(documents), lookup.holders, groups))
        step()
    return found


def _rank(medley: Medley, name: str, text: str, rerankers: RerankStages | None) -> dict[str, list[str]]:
    """System → documents by rank, each once."""
    services = replace(medley.services, reranker=lambda _: rerankers)
    query = Query(name, ACCESS, text, size=DEPTH, deadline_ms=0)
    trace = Trace()
    retrieved = retrieve(query, services, trace, medley.collections.get(name))
    check_whole((*trace.degraded, *trace.partial))
    systems = {
        BM25: distinct(item.document for item in retrieved.answer.rankings.get(BM25, ())),
        FUSED: distinct(item.document for item in retrieved.candidates),
    }
    if rerankers is not None:
        results = search(query, services)
        check_whole((*results.degraded, *results.partial))
        systems[RERANKED] = [hit.document for hit in results.hits]
    return systems
