"""Reads the body of a `_search`: one query of ours, and the form of its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.pipeline.checks import RELEVANCE, sort_orders
from search.query import MAX_PAGE_SIZE, Query
from web.compatible.aggregations import FacetAggregation, read_aggregations
from web.compatible.extensions import given_vectors
from web.compatible.highlights import FieldHighlight, read_highlights
from web.compatible.query.clauses import read_query
from web.compatible.query.fields import text_of_ids
from web.compatible.query.wanted import Wanted
from web.compatible.shapes import (
    Neutral,
    a_flag,
    a_list,
    a_text,
    a_whole,
    an_object,
    check_keys,
    only_entry,
    quoted,
    unsupported,
)
from web.compatible.sources import SourceFilter, read_source

DEFAULT_SIZE: Final = 10
_KEYS: Final = (
    "_source",
    "aggregations",
    "aggs",
    "explain",
    "ext",
    "from",
    "highlight",
    "query",
    "size",
    "sort",
    "timeout",
    "track_scores",
    "track_total_hits",
    "version",
)
_NEUTRAL: Final[Neutral] = {
    "docvalue_fields": ([],),
    "fields": ([],),
    "indices_boost": ([], {}),
    "profile": (False,),
    "script_fields": ({},),
    "seq_no_primary_term": (False,),
    "stored_fields": (["*"], "*"),
    "suggest": ({},),
    "terminate_after": (0,),
}
_TIMEOUT: Final = re.compile(r"([0-9]{1,9})(ms|s|m)")
_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "m": 60_000}
_LONGEST: Final = 60_000
_SORT_NEUTRAL: Final = {"missing": ("_last",), "mode": (None,)}


@dataclass(frozen=True, slots=True)
class CompatibleSearch:
    """A query, whose page begins with the first hit of all, and what is shown of its answer.

    The hits from `start` on are shown, at most `size`. `total` is true, false, or the number up to which it is counted.
    `window` is the size of the result window. `sort_keys` are the fields that it is sorted by, `_score` and `_doc` among them.
    """

    query: Query
    start: int
    size: int
    source: SourceFilter
    highlights: tuple[FieldHighlight, ...]
    aggregations: tuple[FacetAggregation, ...]
    total: bool | int
    sort_keys: tuple[str, ...]
    has_scores: bool
    has_versions: bool
    window: int

    @property
    def is_sorted(self) -> bool:
        """Whether hits are sorted by a field."""
        return self.query.sort != RELEVANCE


def read_body(value: Any, collection: Collection, access: Access, window: int) -> CompatibleSearch:
    """The search that a body asks for; `window` is the size of the result window. Raises `InvalidInput`."""
    body = an_object(value, "body")
    check_keys(body, _KEYS, "body", _NEUTRAL)
    wanted = read_query(body["query"], collection) if body.get("query") is not None else Wanted()
    start, size = _page(body, min(window, MAX_PAGE_SIZE))
    sort, keys = _sort(body["sort"], collection) if body.get("sort") else (RELEVANCE, ())
    aggregations = _aggregations(body, collection)
    vectors = given_vectors(body.get("ext"), wanted)
    return CompatibleSearch(
        query=Query(
            collection=collection.name,
            access=access,
            text=wanted.text or text_of_ids(wanted.ids),
            everything=not (wanted.ranks or wanted.ids) or wanted.optional,
            vectors=vectors,
            plain=wanted.optional,  # a text that only ranks must not exclude what it says is absent
            filters=wanted.filters,
            facets=tuple(dict.fromkeys(item.facet for item in aggregations)),
            size=max(1, start + size),
            sort=sort,
            explain=_flag(body, "explain"),
            rerank=bool(size and wanted.text),
            stances=bool(size and wanted.text),
            deadline_ms=_timeout(body.get("timeout")),
        ),
        start=start,
        size=size,
        source=read_source(body.get("_source", True), "_source"),
        highlights=read_highlights(body["highlight"], "highlight") if body.get("highlight") else (),
        aggregations=aggregations,
        total=_total(body.get("track_total_hits", True)),
        sort_keys=keys,
        has_scores=sort == RELEVANCE or "_score" in keys or _flag(body, "track_scores"),
        has_versions=_flag(body, "version"),
        window=window,
    )


def read_count(value: Any, collection: Collection, access: Access) -> Query:
    """The query of a `_count`, whose total is its answer. Raises `InvalidInput`."""
    check_keys(an_object(value, "body"), ("query",), "body", {})
    return read_body({**value, "size": 0}, collection, access, 1).query


def _flag(body: Mapping[str, Any], name: str) -> bool:
    return a_flag(body.get(name, False), name)


def _page(body: Mapping[str, Any], limit: int) -> tuple[int, int]:
    start, size = a_whole(body.get("from", 0), "from"), a_whole(body.get("size", DEFAULT_SIZE), "size")
    if start + size > limit:
        raise InvalidInput(
            f"result window is too large, from + size must be less than or equal to: [{limit}] but was [{start + size}]; "
            "the cursor of /v1/search goes further",
            field="from" if start else "size",
        )
    return start, size


def _aggregations(body: Mapping[str, Any], collection: Collection) -> tuple[FacetAggregation, ...]:
    if "aggs" in body and "aggregations" in body:
        raise InvalidInput("give [aggs] or [aggregations], not both", field="aggs")
    name = "aggs" if "aggs" in body else "aggregations"
    return read_aggregations(body.get(name) or {}, name, collection)


def _sort(value: Any, collection: Collection) -> tuple[str, tuple[str, ...]]:
    """One order of the collection, and all keys; `_score` and `_doc` after it are what decides between equals anyway."""
    items = [_order(item) for item in a_list(value, "sort")]
    first, further = items[0], items[1:]
    if any(item not in (RELEVANCE, "_doc") for item in further):
        raise unsupported("a sort by several fields", "sort", "give one field; equals are in order of their scores")
    if first not in (*sort_orders(collection), "_doc"):
        known = ", ".join(name for name in sort_orders(collection) if not name.startswith("-"))
        instead = f"there are {known.replace(RELEVANCE, '_score')}"
        raise unsupported(f"a sort by {quoted(first.removeprefix('-'))}", "sort", instead)
    keys = tuple("_score" if item == RELEVANCE else item.removeprefix("-") for item in items)
    return (RELEVANCE if first == "_doc" else first), keys


def _order(item: Any) -> str:
    name, options = (item, {}) if isinstance(item, str) else only_entry(item, "sort")
    options = options if isinstance(options, dict) else {"order": options}
    where = f"sort.{name}"[:200]
    # `unmapped_type` is about a field that does not exist, which is an error here.
    check_keys(options, ("order", "unmapped_type"), where, _SORT_NEUTRAL)
    order = options.get("order", "desc" if name == "_score" else "asc")
    if order not in ("asc", "desc") or (name, order) == ("_score", "asc"):
        raise unsupported(f"the order {quoted(order)}", where, "it can be asc or desc, and of _score only desc")
    if name in ("_score", "_doc"):
        return RELEVANCE if name == "_score" else name
    return f"-{name}" if order == "desc" else name


def _timeout(value: Any) -> int | None:
    """The time for reranking, as `timeout` gives it: what does not fit is left out, and the answer says so."""
    if value is None:
        return None
    found = _TIMEOUT.fullmatch(a_text(value, "timeout"))
    milliseconds = int(found[1]) * _MILLISECONDS[found[2]] if found else 0
    if not 1 <= milliseconds <= _LONGEST:
        raise unsupported(f"the timeout {quoted(value)}", "timeout", "write 1ms to 60s")
    return milliseconds


def _total(value: Any) -> bool | int:
    return value if isinstance(value, bool) else a_whole(value, "track_total_hits", 1)
