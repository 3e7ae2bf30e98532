"""Aggregations that count the values of a field, and the values as facets show them."""

from __future__ import annotations

from datetime import date
from typing import Any

from search.engines.embedded.schema import column
from search.engines.values import MAX_VALUES, number_text
from search.query import counted_field


def facet_of(name: str, size: int) -> dict[str, Any]:
    """The aggregation of the values of a facet, at most `size` of them."""
    # Each segment returns all its buckets, so that the counts are exact.
    return {"terms": {"field": column(counted_field(name)), "size": size, "segment_size": MAX_VALUES}}


def facet_value(kind: str, key: Any) -> str:
    """A key of such an aggregation as the value of a facet."""
    if kind == "number":
        return number_text(key)
    return date.fromordinal(int(key)).isoformat() if kind == "date" else str(key)
