"""Searches to try, written for the demo collections: shown where those documents are, to those who may see them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from mappings.documents import Access
from search.storage import DocumentStore
from web.pages.addresses import State

FILE: Final = Path(__file__).parents[1] / "demo" / "queries.json"
SHOWN: Final = 6


def of(collection: str, store: DocumentStore, access: Access) -> list[tuple[str, State]]:
    """(words, search) of the examples for a collection whose answers are in it and visible."""
    wanted = [item for item in _all() if item["collection"] == collection and item["try"]]
    stored = store.latest([name for item in wanted for name in item["relevant"]])
    visible = {name for name, found in stored.items() if found.document and access.may_see(found.document.labels)}
    return [(_words(item), _state(item)) for item in wanted if visible.intersection(item["relevant"])][:SHOWN]


@cache
def _all() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.is_file() else ()


def _words(item: dict[str, Any]) -> str:
    """What the example is called: its text, or its slots in words."""
    return ", ".join(item[name] for name in ("text", "entity", "aspect") if item.get(name))


def _state(item: dict[str, Any]) -> State:
    slots = [(name, item[name]) for name in ("text", "entity", "aspect") if item.get(name)]
    return State.of([("collection", item["collection"]), *slots])
