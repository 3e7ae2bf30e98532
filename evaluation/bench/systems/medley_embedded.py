"""Medley in this process, on the embedded engine, without reranking: the page that a user gets, with its evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evaluation.bench.shared.ingestion import NAME
from evaluation.stages import ACCESS
from search.bootstrap import Medley
from search.query import Query
from search.settings import read


def open_search(_folder: Path, _model: str) -> Callable[[str], tuple[list[str], dict[str, float]]]:
    """What answers a query with the ids of the ten best documents, best first. Settings say where the index is."""
    medley = Medley.open(read())

    def answer(query: str) -> tuple[list[str], dict[str, float]]:
        found = medley.search(Query(NAME, ACCESS, query, rerank=False))
        return [hit.document for hit in found.hits], dict(found.timings_ms)

    return answer
