"""Builds the bodies of OpenSearch searches from our requests. Pure: no client, no clock.

Filters and access are in a filter context, which never scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mappings.collection import FieldType
from mappings.documents import Access
from mappings.indexes import GAP, TERMS
from search.engines.codec import encodable
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.records import SHOWN
from search.engines.titles import title_weights
from search.engines.values import check_range, field_kind, filter_value, range_bound, summed
from search.protocols import BM25, LegsRequest, LexicalQuery
from search.query import Filter, Range, Terms

Body = dict[str, Any]

COUNTS: Final = " counts"
"""The name of the search that counts, beside those of the legs; no vector field can have it."""

FACET_FETCH: Final = 1_000
_SHARD_FETCH: Final = 20_000
# Each shard returns this many values, so that counts are exact unless a field has more in one shard.

BREADTH: Final = 4
"""How many candidates the graph search keeps for each wanted row. The windows of one text lie close together and mislead
a narrow search: over 222,528 rows recall was .95 with 1, .99 with 4, for 2 ms more."""

_ONLY_PASSAGE: Final[Body] = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["passage"]}


class OpenSearchQueryCompiler:
    """Compiles the requests to one index: `fields` are its field types, `boosts` those of its collection."""

    def __init__(self, fields: Mapping[str, FieldType], boosts: Mapping[str, float]) -> None:
        self._fields = fields
        self._boosts = {name: boost for name, boost in boosts.items() if boost > 0}

    def legs(self, request: LegsRequest, limits: Mapping[str, int]) -> dict[str, Body]:
        """A search for each leg in `limits`, for that number of hits. Raises `InvalidInput`."""
        restriction = self.restriction(request.filters, request.access, request.withheld)
        return {
            name: self.lexical(request.lexical, restriction, limit)
            if name == BM25
            else self.dense(name, request.vectors[name], restriction, limit)
            for name, limit in limits.items()
        }

    def lexical(self, query: LexicalQuery, restriction: Sequence[Body], limit: int) -> Body:
        """The BM25 leg: what the query scores in `content` or in the title alone, and again in the heading."""
        scored = _any_of(self._scored(query), restriction)
        return {"size": limit, "track_total_hits": False, "query": scored, **_ONLY_PASSAGE}

    def _scored(self, query: LexicalQuery) -> list[Body]:
        clauses = _terms("content", query, 1.0)
        clauses += [_phrase("content", words, weight) for words, weight in summed(query.phrases).items()]
        if "title" in self._boosts and query.terms:
            weight, share = title_weights(self._boosts["title"])
            both = [_any_of(clauses), _any_of(_terms("title_words", query, weight))]
            clauses = [{"dis_max": {"queries": both, "tie_breaker": share}}]
        return clauses + _terms("heading_words", query, self._boosts.get("heading", 0.0))

    def dense(self, name: str, vector: NDArray[np.float32], restriction: Sequence[Body], limit: int) -> Body:
        """The rows nearest to `vector`; the filter is inside, where the graph search respects it."""
        nearest = {
            "vector": vector.tolist(),
            "k": limit,
            "method_parameters": {"ef_search": BREADTH * limit},
            "filter": {"bool": {"filter": list(restriction)}},
        }
        return {
            "size": limit,
            "track_total_hits": False,
            "query": {"knn": {f"vectors.{name}": nearest}},
            **_ONLY_PASSAGE,
        }

    def counts(self, request: LegsRequest) -> Body:
        """The number of documents that match, each counted by its first passage, and their facets."""
        query, restriction = request.lexical, self.restriction(request.filters, request.access, request.withheld)
        clauses = [_term(name, term, 1.0) for term in summed(query.terms) for name in ("content", "rest")]
        clauses += [_phrase(name, words, 1.0) for words in summed(query.phrases) for name in ("content", "rest")]
        facets = {name: _facet(name) for name in request.facets if field_kind(self._fields, name)}
        firsts = {"term": {"kind": "document"}}
        return {
            "size": 0,
            "track_total_hits": True,
            "query": _any_of(clauses, [firsts, *restriction]),
            **({"aggs": facets} if facets else {}),
        }

    def restriction(self, filters: Sequence[Filter], access: Access, withheld: Sequence[str] = ()) -> list[Body]:
        """The filter clauses for the caller's access and every filter, without the documents `withheld`.

        Raises `InvalidInput`.
        """
        without = {"bool": {"must_not": [{"terms": {"document": list(map(encodable, withheld))}}]}}
        return [visible_to(access), *(self._filter(item) for item in filters), *([without] if withheld else [])]

    def field_kind(self, name: str) -> FieldType:
        """The type of a field. Raises `InvalidInput` for one that this index does not have."""
        return field_kind(self._fields, name)

    def _filter(self, item: Filter) -> Body:
        kind = field_kind(self._fields, item.name)
        column = f"fields.{item.name}"
        if isinstance(item, Terms):
            return {"terms": {column: [_plain(filter_value(item.name, kind, value)) for value in item.values]}}
        check_range(item.name, kind)
        return _range(item, column, kind)


def multi_search(index: OpenSearchIndexDescription, request: LegsRequest, bodies: Mapping[str, Body]) -> list[Body]:
    """The lines of one `_msearch`: for each search a header, then its body."""
    query = f"{request.access.key}\x1f{request.lexical}"
    header: Body = {
        "index": index.physical,
        # Equal queries go to the same copy of a shard: copies can differ in which deletions they have merged away.
        "preference": hashlib.blake2b(query.encode(errors="replace"), digest_size=8).hexdigest(),
        "allow_partial_search_results": False,
    }
    # With several shards, terms are weighted by the statistics of all of them.
    lexical = header | ({"search_type": "dfs_query_then_fetch"} if index.shards > 1 else {})
    return [line for name, body in bodies.items() for line in (lexical if name == BM25 else header, body)]


def passages(ids: Sequence[str], access: Access) -> Body:
    """The passages with these ids that the caller may see."""
    return _fetch("passage", ids, "passage", access, SHOWN)


def document_fields(documents: Sequence[str], access: Access) -> Body:
    """The fields of those documents that the caller may see, in the entries of their first passages."""
    return _fetch("document", documents, "document", access, ("document", "shown"))


def any_visible(access: Access) -> Body:
    """One entry that the caller may see, if there is any; each shard stops at its first."""
    query = {"bool": {"filter": [visible_to(access)]}}
    return {"size": 1, "terminate_after": 1, "track_total_hits": False, "_source": False, "query": query}


def index_counts() -> Body:
    """The number of entries of each kind, and the last commit."""
    return {
        "size": 0,
        "track_total_hits": True,
        "aggs": {"kinds": {"terms": {"field": "kind"}}, "commit": {"max": {"field": "commit"}}},
    }


def last_commit() -> Body:
    """The number of the last commit."""
    return {"size": 0, "aggs": {"commit": {"max": {"field": "commit"}}}}


def page(query: Mapping[str, Any], source: Mapping[str, Any], size: int, after: Sequence[Any] = ()) -> Body:
    """One page of all entries that match `query`, in index order, from behind the sort values `after`."""
    return {"size": size, "query": query, "_source": source, "sort": ["passage", "row"], **_search_after(after)}


def entries_of(documents: Sequence[str], size: int, after: Sequence[Any] = ()) -> Body:
    """One page of the numbers from which the ids of all entries of these documents are built."""
    return {
        "size": size,
        "_source": False,
        "docvalue_fields": ["document", "version", "ordinal", "row"],
        "query": {"bool": {"filter": [{"terms": {"document": documents}}]}},
        "sort": ["passage", "row"],
        **_search_after(after),
    }


def visible_to(access: Access) -> Body:
    """The filter clause for the caller's access."""
    return {"terms": {"labels": sorted(map(encodable, access.labels))}}


def _fetch(name: str, values: Sequence[str], kind: str, access: Access, fields: Sequence[str]) -> Body:
    clauses = [{"terms": {name: list(map(encodable, values))}}, {"term": {"kind": kind}}, visible_to(access)]
    return {"size": len(values), "_source": {"includes": list(fields)}, "query": {"bool": {"filter": clauses}}}


def _search_after(after: Sequence[Any]) -> Body:
    return {"search_after": list(after)} if after else {}


def _range(item: Range, column: str, kind: FieldType) -> Body:
    bounds = {
        name: _plain(range_bound(item.name, kind, bound))
        for name, bound in (("gte", item.low), ("lte", item.high))
        if bound is not None
    }
    return {"range": {column: bounds}} if bounds else {"exists": {"field": column}}


def _facet(name: str) -> Body:
    return {"terms": {"field": f"fields.{name}", "size": FACET_FETCH, "shard_size": _SHARD_FETCH}}


def _term(name: str, term: str, weight: float) -> Body:
    return {"term": {name: {"value": encodable(term), "boost": weight}}}


def _phrase(name: str, words: tuple[str, ...], weight: float) -> Body:
    present = [word for word in words if word]
    if len(present) < 2:
        return _term(name, present[0] if present else "", weight)
    text = " ".join(encodable(word) or GAP for word in words)
    return {"match_phrase": {name: {"query": text, "analyzer": TERMS, "boost": weight}}}


def _terms(name: str, query: LexicalQuery, boost: float) -> list[Body]:
    terms = summed(query.terms).items() if boost else ()
    return [_term(name, term, weight * boost) for term, weight in terms]


def _any_of(clauses: Sequence[Body], restriction: Sequence[Body] = ()) -> Body:
    if not clauses:
        return {"match_none": {}}
    required = {"filter": list(restriction)} if restriction else {}
    return {"bool": {"should": list(clauses), "minimum_should_match": 1, **required}}


def _plain(value: str | float | date) -> str | float:
    return value.isoformat() if isinstance(value, date) else value
