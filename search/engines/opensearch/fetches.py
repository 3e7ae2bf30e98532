"""Bodies of searches that fetch by id, page by page, or count: passages, fields, proofs, entries, values of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mappings.documents import Access
from search.engines.codec import encodable
from search.engines.opensearch.queries import Body, having, visible_to
from search.engines.opensearch.records import SHOWN
from search.engines.values import MAX_VALUES
from search.query import PROVES, Phrase

_PHRASES: Final = 500

VALUES: Final = "values"
"""The name of the aggregation that counts the values of a field."""


def passages(ids: Sequence[str], access: Access) -> Body:
    """The passages with these ids that the caller may see."""
    return _fetch("passage", ids, "passage", access, SHOWN)


def tokens(ids: Sequence[str], access: Access) -> Body:
    """The token vectors of the passages with these ids that the caller may see."""
    return _fetch("passage", ids, "passage", access, ("passage", "tokens"))


def proving(documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase]) -> Iterator[Body]:
    """Queries that together match the passages of `documents` that assert one of `keys` or have one of `phrases`.

    Only those that the caller may see. A query has a limited number of clauses: phrases of several words are spread.
    """
    single = [encodable(words[0]) for words in phrases if len(words) == 1]
    longer = [words for words in phrases if len(words) > 1]
    found: list[Body] = [{"terms": {PROVES: list(keys)}}] if keys else []
    found += [{"terms": {"content": single}}] if single else []
    for start in range(0, max(1, len(longer)), _PHRASES):
        own = longer[start : start + _PHRASES]
        asked = [*(found if start == 0 else []), *([having(own, ("content",))] if own else [])]
        clauses = [{"terms": {"document": list(map(encodable, documents))}}, {"term": {"kind": "passage"}}]
        if asked:
            either = {"bool": {"should": asked, "minimum_should_match": 1}}
            yield {"bool": {"filter": [*clauses, visible_to(access), either]}}


def document_fields(documents: Sequence[str], access: Access) -> Body:
    """The fields of those documents that the caller may see, in the entries of their first passages."""
    return _fetch("document", documents, "document", access, ("document", "shown"))


def any_visible(access: Access) -> Body:
    """One entry that the caller may see, if there is any; each shard stops at its first."""
    query = {"bool": {"filter": [visible_to(access)]}}
    return {"size": 1, "terminate_after": 1, "track_total_hits": False, "_source": False, "query": query}


def counted_values(field: str, access: Access, withheld: Sequence[str]) -> Body:
    """The values of a field, each with how many documents that the caller may see have it."""
    first: Body = {"filter": [{"term": {"kind": "document"}}, visible_to(access)]}
    without: Body = {"must_not": [{"terms": {"document": list(map(encodable, withheld))}}]} if withheld else {}
    counted = {"field": f"fields.{field}", "size": MAX_VALUES, "shard_size": MAX_VALUES}
    return {"size": 0, "query": {"bool": first | without}, "aggs": {VALUES: {"terms": counted}}}


def index_counts() -> Body:
    """The number of entries of each kind, and the last commit."""
    return {
        "size": 0,
        "track_total_hits": True,
        "aggs": {"kinds": {"terms": {"field": "kind"}}, "commit": {"max": {"field": "commit"}}},
    }


def last_commit() -> Body:
    """The number of the last commit."""
    mark = {"term": {"kind": "commit"}}
    return {"size": 0, "track_total_hits": False, "query": mark, "aggs": {"commit": {"max": {"field": "commit"}}}}


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


def _fetch(name: str, values: Sequence[str], kind: str, access: Access, fields: Sequence[str]) -> Body:
    clauses = [{"terms": {name: list(map(encodable, values))}}, {"term": {"kind": kind}}, visible_to(access)]
    return {"size": len(values), "_source": {"includes": list(fields)}, "query": {"bool": {"filter": clauses}}}


def _search_after(after: Sequence[Any]) -> Body:
    return {"search_after": list(after)} if after else {}
