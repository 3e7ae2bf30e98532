"""The searches of kept items, as plain JSON."""

from __future__ import annotations

from typing import Any

from mappings.documents import Access
from search.engines.opensearch.kept.rows import ITEM
from search.kept.items import KeptFilter

Body = dict[str, Any]


def items(*conditions: Body) -> Body:
    """The query for items that meet all conditions."""
    return {"bool": {"filter": [{"term": {"row": ITEM}}, *conditions]}}


def count(condition: Body) -> Body:
    """The search that counts the items that meet a condition."""
    return {"size": 0, "track_total_hits": True, "query": items(condition)}


def ids(condition: Body, most: int) -> Body:
    """The search for the ids of items that meet a condition."""
    return {"size": most, "query": items(condition), "_source": False, "sort": ["id"]}


def listing(access: Access, wanted: KeptFilter, size: int, after: tuple[int, str] | None) -> Body:
    """The search for a page of what a caller sees, what was changed last first."""
    conditions: list[Body] = [_any(_own(access), _shared(access, wanted))]
    if wanted.kind is not None:
        conditions.append({"term": {"kind": wanted.kind}})
    if wanted.collection is not None:
        conditions.append({"term": {"collection": wanted.collection}})
    body: Body = {"size": size, "query": items(*conditions), "sort": [{"changed": "desc"}, {"id": "desc"}]}
    return body if after is None else body | {"search_after": list(after)}


def _own(access: Access) -> Body:
    return {"term": {"owner": access.user}}


def _shared(access: Access, wanted: KeptFilter) -> Body:
    seen: Body = {"exists": {"field": "labels"}} if access.everything else {"terms": {"labels": sorted(access.labels)}}
    if wanted.visible is None:
        return seen
    return {"bool": {"filter": [seen, {"terms": {"collection": ["", *sorted(wanted.visible)]}}]}}


def _any(*choices: Body) -> Body:
    return {"bool": {"should": list(choices), "minimum_should_match": 1}}
