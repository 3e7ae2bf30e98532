"""Example searches for the demo collections, shown where their documents exist, to callers who can see them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

from mappings.documents import Access
from search.storage import DocumentStore
from web.demo_collections import QUERIES, demo_name
from web.pages.addresses import SearchAddress

SHOWN: Final = 6


def examples_for(collection: str, store: DocumentStore, access: Access) -> list[tuple[str, SearchAddress]]:
    """(words, address) of the examples for a collection that contains a visible answer to them."""
    wanted = [item for item in _all() if demo_name(item["kind"]) == collection and item["try"]]
    stored = store.latest([name for item in wanted for name in item["relevant"]])
    visible = {name for name, found in stored.items() if found.content and access.may_see(found.content.labels)}
    return [(_words(item), _address(item)) for item in wanted if visible.intersection(item["relevant"])][:SHOWN]


@cache
def _all() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(QUERIES.read_text(encoding="utf-8"))) if QUERIES.is_file() else ()


def _words(item: dict[str, Any]) -> str:
    """The words of the example: its text, or its entity and aspect."""
    return ", ".join(item[name] for name in ("text", "entity", "aspect") if item.get(name))


def _address(item: dict[str, Any]) -> SearchAddress:
    slots = [(name, item[name]) for name in ("text", "entity", "aspect") if item.get(name)]
    return SearchAddress.of([("collection", demo_name(item["kind"])), *slots])
