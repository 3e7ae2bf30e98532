"""Which documents hold a query, and which have an excluded phrase, where a document has several passages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from search.engines.opensearch.client import Cluster, ndjson
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.errors import checked
from search.engines.opensearch.queries import HOLDERS, WINDOW, Body, OpenSearchQueryCompiler, multi_search
from search.protocols import LegsRequest


class Finder:
    """Searches of one index, beside those of the legs."""

    def __init__(
        self,
        cluster: Cluster,
        index: OpenSearchIndexDescription,
        compiler: OpenSearchQueryCompiler,
        request: LegsRequest,
    ) -> None:
        self._cluster, self._index, self._compiler, self._request = cluster, index, compiler, request

    def excluded(self, among: Collection[str] = ()) -> list[str]:
        """Documents that have an excluded phrase in any passage, at most `WINDOW`; with `among`, only of those."""
        phrases = self._request.lexical.excluded
        return _documents(self._search(self._compiler.holding_any(phrases, WINDOW, sorted(among)))) if phrases else []

    def across_passages(self, held: Collection[str]) -> list[str]:
        """Documents that hold the query in several passages, best first, beside those `held` in one."""
        missing = self._request.documents - len(held)
        if missing <= 0 or len(self._request.lexical.wanted) < 2:
            return []
        found = self._search(self._compiler.holders_by_document(self._request, self._request.documents))
        return [name for name in _documents(found) if name not in held][:missing]

    def best_of(self, documents: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """The best hits among the passages of these documents."""
        return self._search(self._compiler.best_of(self._request.lexical, documents, WINDOW)) if documents else []

    def _search(self, body: Body) -> Sequence[Mapping[str, Any]]:
        lines = multi_search(self._index, self._request, {HOLDERS: body})
        (answer,) = self._cluster.read("POST", "/_msearch", ndjson(lines))["responses"]
        hits: Sequence[Mapping[str, Any]] = checked(answer, self._cluster.where)["hits"]["hits"]
        return hits


def _documents(hits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(hit["fields"]["passage"][0].rpartition("@")[0] for hit in hits))
