"""Searches to try, written for the demo collections."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from web.links import State

FILE: Final = Path(__file__).parent / "demo" / "queries.json"
SHOWN: Final = 6


def of(collection: str) -> list[tuple[str, State]]:
    """(words, search) of the examples for a collection; none when it isn't one of the demo's."""
    found = [item for item in _all() if item.get("collection") == collection and item.get("try")]
    return [(_words(item), _state(item)) for item in found[:SHOWN]]


@cache
def _all() -> tuple[dict[str, Any], ...]:
    if not FILE.is_file():
        return ()
    written = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(written["queries"] if isinstance(written, dict) else written)


def _words(item: dict[str, Any]) -> str:
    """What the example is called: its text, or its slots and findings in words."""
    findings = [*item.get("with", ()), *(f"no {finding}" for finding in item.get("without", ()))]
    slots = [item[name] for name in ("text", "entity", "aspect") if item.get(name)]
    return ", ".join([*slots, *findings])


def _state(item: dict[str, Any]) -> State:
    slots = [(name, item[name]) for name in ("text", "entity", "aspect") if item.get(name)]
    findings = [(name, ", ".join(item[name])) for name in ("with", "without") if item.get(name)]
    filters = [(f"filter.{name}", value) for name, value in item.get("filters", {}).items()]
    return State.of([("collection", item["collection"]), *slots, *findings, *filters])
