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

from mappings.documents import Access
from mappings.fields import FieldType
from mappings.indexes import GAP, TERMS
from search.document_criteria import DocumentCriterion
from search.engines.codec import encodable
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.vectors.forms import NUMBERS, VectorForm
from search.engines.titles import title_weights
from search.engines.values import check_range, every_phrase, field_kind, filter_value, grouped, range_bound, summed
from search.protocols import BM25, LegsRequest
from search.query import YEARLY, Filter, LexicalQuery, NoneOf, Phrase, Range, Terms, counted_field

Body = dict[str, Any]

COUNTS: Final = " counts"
"""The name of the search that counts, beside those of the legs; no vector field can have it."""

FACET_FETCH: Final = 1_000
_SHARD_FETCH: Final = 20_000
# Each shard returns this many values, so that counts are exact unless a field has more in one shard.

BREADTH: Final = 4
"""How many candidates the graph search keeps for each wanted row. The windows of one text lie close together and mislead
a narrow search: over 222,528 rows recall was .95 with 1, .99 with 4, for 2 ms more."""

OVERSAMPLED: Final = 2.0
"""How many rows of a quantised field are scored again by their full vectors, for each wanted one."""

WINDOW: Final = 10_000
"""Most hits of one search: `index.max_result_window`, and the largest `k`."""

_MOST_SLACK: Final = 0.02
"""More slack takes more hits than are saved by it: over 44,169 abstracts .01 takes, at the median, 6 hits more than
the 100 that are wanted."""

HOLDERS: Final = "documents that hold the words"
"""The name of the search for the documents that hold the query."""

_FIRST: Final[Body] = {"term": {"kind": "document"}}
_ONE: Final = 1 / 2.2
# The engine scales scores by 2.2 (`search.engines.opensearch.legs`).
_ONLY_PASSAGE: Final[Body] = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["passage"]}


class OpenSearchQueryCompiler:
    """Compiles the requests to one index: `fields` are its field types, `boosts` those of its collection."""

    def __init__(
        self, fields: Mapping[str, FieldType], boosts: Mapping[str, float], form: VectorForm = NUMBERS, bits: int = 32
    ) -> None:
        self._fields = fields
        self._form, self._bits = form, bits
        self._boosts = {name: boost for name, boost in boosts.items() if boost > 0}

    def legs(self, request: LegsRequest, limits: Mapping[str, int]) -> dict[str, Body]:
        """A search for each leg in `limits`, for that number of hits. Raises `InvalidInput`."""
        restriction = self.restriction(request)
        makers = {BM25: self.lexical, HOLDERS: self.holders}
        return {
            name: makers[name](request.lexical, restriction, limit)
            if name in makers
            else self.dense(name, request.vectors[name], restriction, limit)
            for name, limit in limits.items()
        }

    def lexical(self, query: LexicalQuery, restriction: Sequence[Body], limit: int) -> Body:
        """The BM25 leg: the best by `scoring`, but for passages within `slack` of the last one.

        Where there is slack, the greater of the scores of content and title alone finds the hits, and `scoring` orders them:
        the engine skips what can't be among the best of either only where nothing is added to the greater one.
        """
        if not self.slack(query):
            return _page(limit, self.scoring(query, restriction))
        both = [_any_of(clauses, restriction) for clauses in self._competing(query)]
        found = {"dis_max": {"queries": both, "tie_breaker": 0.0}}
        again = {"rescore_query": self.scoring(query, ()), "query_weight": 0.0, "rescore_query_weight": 1.0}
        return _page(limit, found) | {"rescore": {"window_size": limit, "query": again}}

    def scoring(self, query: LexicalQuery, restriction: Sequence[Body]) -> Body:
        """What the query scores in `content` or in the title alone, and again in the heading."""
        every = [_constant(_FIRST, 1.0)] if query.everything else []
        return _any_of([*self._scored(query), *every], restriction)

    def slack(self, query: LexicalQuery) -> float:
        """By which share of the last hit's score a passage that is no hit of the BM25 leg can exceed it."""
        adds = "heading" in self._boosts or query.keywords or query.everything
        _, share = title_weights(self._boosts.get("title", 0.0))
        return share if share <= _MOST_SLACK and query.terms and not adds else 0.0

    def holders(self, query: LexicalQuery, restriction: Sequence[Body], limit: int) -> Body:
        """The passages that hold a form of everything wanted, and those of named documents, with their BM25 scores."""
        required = [self._held(query, ("content",)), {"term": {"kind": "passage"}}, *restriction]
        return _page(limit, {"bool": {"should": self._scored(query), "minimum_should_match": 0, "filter": required}})

    def holders_by_document(self, request: LegsRequest, limit: int) -> Body:
        """The first passages of the documents that hold everything wanted, in whichever passages."""
        names = ("content", "rest")
        terms = summed(request.lexical.terms).items()
        clauses = [_term(name, term, weight) for term, weight in terms for name in names]
        restriction = self.restriction(request)
        required = [_FIRST, *self._holding(request.lexical, names), *restriction]
        return _page(limit, {"bool": {"should": clauses, "minimum_should_match": 0, "filter": required}})

    def holding_any(self, phrases: Sequence[Phrase], limit: int, among: Sequence[str] = ()) -> Body:
        """The first passages of the documents, or of those `among`, that have one of the phrases in any passage."""
        own = [{"terms": {"document": list(map(encodable, among))}}] if among else []
        return _page(limit, {"bool": {"filter": [_FIRST, having(phrases, ("content", "rest")), *own]}})

    def best_of(self, query: LexicalQuery, documents: Sequence[str], limit: int) -> Body:
        """The passages of these documents that match, with their BM25 scores."""
        return _page(limit, _any_of(self._scored(query), [{"terms": {"document": list(map(encodable, documents))}}]))

    def _holding(self, query: LexicalQuery, names: Sequence[str]) -> list[Body]:
        return [having(forms, names) for forms in query.wanted]

    def _held(self, query: LexicalQuery, names: Sequence[str]) -> Body:
        found: list[Body] = [{"bool": {"filter": self._holding(query, names)}}] if query.wanted else []
        return {"bool": {"should": found + _named(query), "minimum_should_match": 1}}

    def _competing(self, query: LexicalQuery) -> tuple[list[Body], list[Body]]:
        """What the query scores in `content`, and in the title alone."""
        groups, rest = grouped(query)
        clauses = _terms("content", rest) + _phrases(summed(query.phrases))
        either = ([_any_of(_terms("content", group.terms)), *_phrases(group.phrases)] for group in groups)
        clauses += [{"dis_max": {"queries": queries}} for queries in either]
        weight, _ = title_weights(self._boosts.get("title", 0.0))
        return clauses, _terms("title_words", summed(query.terms), weight)

    def _scored(self, query: LexicalQuery) -> list[Body]:
        terms, (clauses, titles) = summed(query.terms), self._competing(query)
        if "title" in self._boosts and query.terms:
            _, share = title_weights(self._boosts["title"])
            both = [_any_of(clauses), _any_of(titles)]
            clauses = [{"dis_max": {"queries": both, "tie_breaker": share}}]
        clauses += _terms("heading_words", terms, self._boosts.get("heading", 0.0))
        keywords = [_constant({"term": {name: encodable(value)}}, weight) for name, value, weight in query.keywords]
        return clauses + keywords

    def dense(self, name: str, vector: NDArray[np.float32], restriction: Sequence[Body], limit: int) -> Body:
        """The rows nearest to `vector`; the filter is inside, where the graph search respects it."""
        nearest = {
            "vector": self._form.query(vector).tolist(),
            "k": limit,
            "method_parameters": {"ef_search": BREADTH * limit},
            "filter": {"bool": {"filter": list(restriction)}},
        }
        if self._bits < 32:  # by quantised values alone .68 of the nearest 100 were found, in this way all
            nearest["rescore"] = {"oversample_factor": OVERSAMPLED}
        return _page(limit, {"knn": {f"vectors.{name}": nearest}})

    def counts(self, request: LegsRequest) -> Body:
        """The number of documents that match, each counted by its first passage, and their facets."""
        query, restriction = request.lexical, self.restriction(request)
        clauses = [_term(name, term, 1.0) for term in summed(query.terms) for name in ("content", "rest")]
        clauses += [_phrase(name, words, 1.0) for words in every_phrase(query) for name in ("content", "rest")]
        facets = {name: _facet(name) for name in request.facets if counted_field(name) in self._fields}
        clauses = [{"match_all": {}}] if query.everything else clauses + _named(query)
        if query.required:
            restriction = [*restriction, self._held(query, ("content", "rest"))]
        return {
            "size": 0,
            "track_total_hits": True,
            "query": _any_of(clauses, [_FIRST, *restriction]),
            **({"aggs": facets} if facets else {}),
        }

    def restriction(self, request: LegsRequest) -> list[Body]:
        """The filter clauses for access, filters, and withheld and excluded documents. Raises `InvalidInput`.

        An entry that is not the first of its document shows only its own excluded phrases.
        """
        filters = [visible_to(request.access), *(self._filter(item) for item in request.filters)]
        without: list[Body] = []
        if request.withheld:
            without.append({"terms": {"document": list(map(encodable, request.withheld))}})
        if request.lexical.excluded:
            without.append(having(request.lexical.excluded, ("content", "rest")))
        return [*filters, {"bool": {"must_not": without}}] if without else filters

    def meeting(self, criterion: DocumentCriterion) -> list[Body]:
        """The filter clauses of the first passages of the documents that meet a criterion by themselves."""
        held = [having(forms, ("content", "rest")) for forms in criterion.wanted]
        return [*map(self._filter, criterion.filters), *held]

    def field_kind(self, name: str) -> FieldType:
        """The type of a field. Raises `InvalidInput` for one that this index does not have."""
        return field_kind(self._fields, name)

    def _filter(self, item: Filter) -> Body:
        kind = field_kind(self._fields, item.name)
        column = f"fields.{item.name}"
        if isinstance(item, Terms | NoneOf):
            found = {"terms": {column: [_plain(filter_value(item.name, kind, value)) for value in item.values]}}
            return found if isinstance(item, Terms) else {"bool": {"must_not": [found]}}
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
    return [line for name, body in bodies.items() for line in (lexical if name in (BM25, HOLDERS) else header, body)]


def visible_to(access: Access) -> Body:
    """The filter clause for the caller's access."""
    return {"terms": {"labels": sorted(map(encodable, access.labels))}}


def _range(item: Range, column: str, kind: FieldType) -> Body:
    given = (("gte", item.low), ("lte", item.high))
    bounds = {name: _plain(range_bound(item.name, kind, bound)) for name, bound in given if bound is not None}
    return {"range": {column: bounds}} if bounds else {"exists": {"field": column}}


def _page(limit: int, query: Body) -> Body:
    """The best `limit` entries, with nothing but the ids of their passages."""
    return {"size": limit, "track_total_hits": False, "query": query, **_ONLY_PASSAGE}


def _named(query: LexicalQuery) -> list[Body]:
    return [{"term": {f"fields.{name}" if name else "document": encodable(value)}} for name, value in query.named]


def having(phrases: Sequence[Phrase], names: Sequence[str]) -> Body:
    """The entries that have one of the phrases in one of the fields `names`."""
    clauses = [_phrase(name, words, 1.0) for words in phrases for name in names]
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _constant(query: Body, score: float) -> Body:
    return {"constant_score": {"filter": query, "boost": score * _ONE}}


def _facet(name: str) -> Body:
    if name.endswith(YEARLY):
        place = {"field": f"fields.{counted_field(name)}", "format": "yyyy", "min_doc_count": 1}
        return {"date_histogram": {**place, "calendar_interval": "year"}}
    return {"terms": {"field": f"fields.{name}", "size": FACET_FETCH, "shard_size": _SHARD_FETCH}}


def _term(name: str, term: str, weight: float) -> Body:
    return {"term": {name: {"value": encodable(term), "boost": weight}}}


def _phrase(name: str, words: tuple[str, ...], weight: float) -> Body:
    present = [word for word in words if word]
    if len(present) < 2:
        return _term(name, present[0] if present else "", weight)
    text = " ".join(encodable(word) or GAP for word in words)
    return {"match_phrase": {name: {"query": text, "analyzer": TERMS, "boost": weight}}}


def _phrases(phrases: Mapping[Phrase, float]) -> list[Body]:
    return [_phrase("content", words, weight) for words, weight in phrases.items()]


def _terms(name: str, terms: Mapping[str, float], boost: float = 1.0) -> list[Body]:
    return [_term(name, term, weight * boost) for term, weight in terms.items()] if boost else []


def _any_of(clauses: Sequence[Body], restriction: Sequence[Body] = ()) -> Body:
    if not clauses:
        return {"match_none": {}}
    required = {"filter": list(restriction)} if restriction else {}
    return {"bool": {"should": list(clauses), "minimum_should_match": 1, **required}}


def _plain(value: str | float | date) -> str | float:
    return value.isoformat() if isinstance(value, date) else value
