"""The documents that kept items name, as far as they still exist and the caller can see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import InvalidInput, NotFound
from web.use_cases import UseCases

LiveDocuments = Mapping[tuple[str, str], tuple[Document, Collection]]
"""Each by (collection, id)."""


def live_documents(use_cases: UseCases, named: Iterable[tuple[str, str]]) -> LiveDocuments:
    """The documents of `named`, which are (collection, id).

    Not logged: the reading of the item that names them is.
    """
    by_collection: dict[str, list[str]] = {}
    for name, identifier in dict.fromkeys(named):
        by_collection.setdefault(name, []).append(identifier)
    found: dict[tuple[str, str], tuple[Document, Collection]] = {}
    for name, identifiers in by_collection.items():
        try:
            collection = use_cases.collections.get(name)
        except (NotFound, InvalidInput):
            continue  # it was deleted or renamed, or the caller no longer sees it
        visible = use_cases.visible(name, identifiers)
        found |= {(name, each): (document, collection) for each, document in visible.items()}
    return found
