"""The lexical leg of a search, over the fields that the plug-in's template gives to an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from search.engines.opensearch.queries import Body, OpenSearchQueryCompiler
from search.query import LexicalQuery

OWN: Final = "medley"
"""The object in a document that holds what the plug-in adds to it, so that no field of the document can be in its way."""

_ON_FIELDS: Final = frozenset({"term", "match_phrase"})


def lexical_query(query: LexicalQuery, boosts: Mapping[str, float]) -> dict[str, Any]:
    """What a search of a Medley index asks in its lexical leg, for the plug-in's fields; `boosts` as the kind has them."""
    body = OpenSearchQueryCompiler({}, boosts).scoring(query, ())
    found = _moved(body)
    return found if isinstance(found, dict) else {}


def _moved(body: Any) -> Any:
    """The body with each field inside the object `OWN`."""
    if isinstance(body, list):
        return [_moved(item) for item in body]
    if not isinstance(body, dict):
        return body
    moved: Body = {}
    for name, value in body.items():
        moved[name] = (
            {f"{OWN}.{field}": asked for field, asked in value.items()} if name in _ON_FIELDS else _moved(value)
        )
    return moved
