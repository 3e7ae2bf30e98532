"""Check that a query names only fields of its collection, once, before anything is searched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.query import YEARLY, Query

RELEVANCE: Final = "relevance"
_SORTABLE: Final = ("number", "date")


def check_fields(query: Query, collection: Collection) -> None:
    """Raise `InvalidInput` for a filter, facet or sort by a field that the collection does not have."""
    dates = {name for name, field in collection.fields.items() if field.type == "date"}
    known = {*collection.fields, *(f"{name}{YEARLY}" for name in dates)}
    for where, names in (("filters", [item.name for item in query.filters]), ("facets", query.facets)):
        for name in names:
            if name not in (known if where == "facets" else collection.fields):
                raise InvalidInput(
                    f"the collection {collection.name!r} has no field {name[:80]!r}; {_known(sorted(collection.fields))}",
                    field=where,
                )
    if query.sort not in sort_orders(collection):
        raise InvalidInput(
            f"the collection {collection.name!r} cannot be sorted by {query.sort[:80]!r}; "
            f"{_known(sort_orders(collection))}",
            field="sort",
        )


def sort_orders(collection: Collection) -> tuple[str, ...]:
    """The orders in which a collection's hits can be shown: `relevance`, and `name` or `-name` (descending)."""
    names = [name for name, field in collection.fields.items() if field.type in _SORTABLE]
    return (RELEVANCE, *(f"{sign}{name}" for name in names for sign in ("-", "")))


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"known are {listed}" if listed else "it has none"
