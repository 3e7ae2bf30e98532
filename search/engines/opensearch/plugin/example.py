"""The form of a search that the search pipeline of `resources` reads, as any client can send it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from search.engines.opensearch.plugin.queries import OWN
from search.engines.opensearch.plugin.resources import SHOWN, PluginPlan
from search.engines.opensearch.queries import BREADTH

DEPTH: Final = 100
"""How many hits each leg gives to fusion."""


def example_query(
    plan: PluginPlan, text: str, size: int = SHOWN, required: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A search as any client can send it, with `search_pipeline` in its body.

    `required` is a query that all hits must match: it is in both legs, in the second one where the graph search heeds it.
    """
    nearest: dict[str, Any] = {"query_text": text, "k": DEPTH, "method_parameters": {"ef_search": BREADTH * DEPTH}}
    read = {"exists": {"field": f"{OWN}.encoder"}}  # what came in past the pipeline can't be reranked
    words: dict[str, Any] = {"must": [{"match": {plan.text: {"query": text}}}], "filter": [read]}
    if required:
        nearest["filter"] = required
        words["filter"].append(required)
    windows = f"{OWN}.windows"
    nested = {"path": windows, "score_mode": "max", "query": {"neural": {f"{windows}.vector": nearest}}}
    legs = [{"bool": words}, {"nested": nested}]
    return {
        "size": size,
        "_source": {"excludes": [windows]},
        "query": {"hybrid": {"pagination_depth": DEPTH, "queries": legs}},
        "search_pipeline": plan.name,
    }
