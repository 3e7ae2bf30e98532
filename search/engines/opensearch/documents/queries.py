"""Builds the search bodies of the document store. Pure: no client, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from search.storage import State

Body = dict[str, Any]

DELETED: Final = "deleted"
PENDING_DELETES: Final = "pending deletes"


def pending(index: str) -> Body:
    """The heads that are not settled in `index`."""
    return {"bool": {"must_not": [{"term": {"settled": index}}]}}


def superseded(index: str) -> Body:
    """The heads that are not settled in `index` and had an earlier version."""
    return {"bool": {"filter": [{"term": {"replaces": True}}], "must_not": [{"term": {"settled": index}}]}}


def failed(index: str) -> Body:
    """The heads that failed in `index`."""
    return {"bool": {"filter": [{"term": {"failed": index}}]}}


def in_state(index: str, state: State, job: str | None) -> Body:
    """The heads in one state; only those that came with `job` where it is given."""
    has_settled, has_failed = {"term": {"settled": index}}, {"term": {"failed": index}}
    clauses: dict[str, list[Body]] = {
        State.RECEIVED: {"filter": [], "must_not": [has_settled]},
        State.FAILED: {"filter": [has_settled, has_failed]},
        State.INDEXED: {"filter": [has_settled], "must_not": [has_failed]},
    }[state]
    if job is not None:
        clauses["filter"].append({"term": {"job": job}})
    return {"bool": clauses}


def counts(index: str, job: str | None) -> dict[str, Body]:
    """State, or kind of deletion -> the heads that it has; only those that came with `job` where it is given.

    To count the matches of each takes a fraction of one search with an aggregation for each, which visits every head.
    """
    is_deleted = {"term": {"deleted": True}}
    has_settled, has_failed = {"term": {"settled": index}}, {"term": {"failed": index}}
    groups: dict[str, dict[str, list[Body]]] = {
        DELETED: {"filter": [is_deleted]},
        PENDING_DELETES: {"filter": [is_deleted], "must_not": [has_settled]},
        State.RECEIVED.value: {"filter": [], "must_not": [is_deleted, has_settled]},
        State.FAILED.value: {"filter": [has_settled, has_failed], "must_not": [is_deleted]},
        State.INDEXED.value: {"filter": [has_settled], "must_not": [is_deleted, has_failed]},
    }
    if job is not None:
        for clauses in groups.values():
            clauses["filter"].append({"term": {"job": job}})
    return {name: {"bool": clauses} for name, clauses in groups.items()}


def tombstones(before: int, indexes: Sequence[str], ids: Sequence[str] | None) -> Body:
    """The tombstones up to the turn `before` that all `indexes` have settled; only of `ids` where given."""
    clauses: list[Body] = [{"term": {"deleted": True}}, {"range": {"turn": {"lte": before}}}]
    clauses += [{"term": {"settled": index}} for index in indexes]
    if ids is not None:
        clauses.append({"terms": {"id": list(ids)}})
    return {"bool": {"filter": clauses}}


def oldest_pending(index: str) -> Body:
    """The lowest `turn` of the heads that are not settled in `index`."""
    return {"size": 0, "query": pending(index), "aggs": {"turn": {"min": {"field": "turn"}}}}


def values(field: str) -> Body:
    """The distinct values of a field that has few."""
    return {"size": 0, "aggs": {"values": {"terms": {"field": field, "size": 10_000}}}}


def recorded(index: str) -> Body:
    """The number of documents with passages in `index` by its state records, and the sum of their passages."""
    with_passages = [{"term": {"index": index}}, {"range": {"passages": {"gt": 0}}}]
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": with_passages}},
        "aggs": {"passages": {"sum": {"field": "passages"}}},
    }
