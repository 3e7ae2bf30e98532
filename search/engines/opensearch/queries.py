"""From our questions to OpenSearch's bodies. Pure; filters and access stand in a filter context, which never scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mappings.collection import FieldType
from mappings.documents import Access
from mappings.indexes import GAP, TERMS
from search.engines.codec import encodable
from search.engines.values import check_range, field_kind, filter_value, range_bound, summed
from search.protocols import LexicalQuery
from search.query import Filter, Range, Terms

Body = dict[str, Any]

FACET_FETCH: Final = 1_000
_SHARD_FETCH: Final = 20_000
# Each shard gives this many values, so that counts are exact unless a field has more in one shard.

BREADTH: Final = 4
"""How many times the wanted rows the search of the graph keeps in view. Windows of one text lie close together and lead a
narrow search astray: over 222,528 rows recall was .95 with 1, .99 with 4, for 2 ms more."""

_ONLY_PASSAGE: Final[Body] = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["passage"]}


class Compiler:
    """Compiles for one index: the types of its fields, and the boosts of its collection."""

    def __init__(self, fields: Mapping[str, FieldType], boosts: Mapping[str, float]) -> None:
        self._fields = fields
        self._boosts = {name: boost for name, boost in boosts.items() if boost > 0}

    def lexical(self, query: LexicalQuery, restriction: Sequence[Body], limit: int) -> Body:
        """What BM25 ranks: terms in `content`, again in the boosted fields, and phrases in `content`."""
        clauses = []
        for term, weight in summed(query.terms).items():
            clauses.append(_term("content", term, weight))
            clauses.extend(_term(f"{name}_words", term, weight * boost) for name, boost in self._boosts.items())
        clauses.extend(_phrase("content", words, weight) for words, weight in summed(query.phrases).items())
        return {"size": limit, "track_total_hits": False, "query": _any_of(clauses, restriction), **_ONLY_PASSAGE}

    def dense(self, name: str, vector: NDArray[np.float32], restriction: Sequence[Body], limit: int) -> Body:
        """The rows nearest to `vector`; the filter stands inside, where the search of the graph minds it."""
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

    def counted(self, query: LexicalQuery, restriction: Sequence[Body], facets: Sequence[str]) -> Body:
        """The first passage of each document that matches anywhere, counted; and the facets of those."""
        clauses = [_term(name, term, 1.0) for term in summed(query.terms) for name in ("content", "rest")]
        clauses += [_phrase(name, words, 1.0) for words in summed(query.phrases) for name in ("content", "rest")]
        wanted = {name: _facet(name) for name in facets if field_kind(self._fields, name)}
        firsts = {"term": {"kind": "document"}}
        return {
            "size": 0,
            "track_total_hits": True,
            "query": _any_of(clauses, [firsts, *restriction]),
            **({"aggs": wanted} if wanted else {}),
        }

    def restriction(self, filters: Sequence[Filter], access: Access) -> list[Body]:
        """The clauses that keep what the caller may see and every filter keeps. Raises `InvalidInput`."""
        return [visible(access), *(self._filter(item) for item in filters)]

    def field_kind(self, name: str) -> FieldType:
        """The type of a field. Raises `InvalidInput` for one that this index does not hold."""
        return field_kind(self._fields, name)

    def _filter(self, item: Filter) -> Body:
        kind = field_kind(self._fields, item.name)
        column = f"fields.{item.name}"
        if isinstance(item, Terms):
            return {"terms": {column: [_plain(filter_value(item.name, kind, value)) for value in item.values]}}
        check_range(item.name, kind)
        return _range(item, column, kind)


def visible(access: Access) -> Body:
    """What the caller may see."""
    return {"terms": {"labels": sorted(map(encodable, access.labels))}}


def among(name: str, values: Sequence[str], kind: str, access: Access) -> Body:
    """The entries of a kind whose `name` is one of `values`, of those that the caller may see."""
    clauses = [{"terms": {name: list(map(encodable, values))}}, {"term": {"kind": kind}}, visible(access)]
    return {"bool": {"filter": clauses}}


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


def _any_of(clauses: Sequence[Body], restriction: Sequence[Body]) -> Body:
    if not clauses:
        return {"match_none": {}}
    return {"bool": {"should": list(clauses), "minimum_should_match": 1, "filter": list(restriction)}}


def _plain(value: str | float | date) -> str | float:
    return value.isoformat() if isinstance(value, date) else value
