"""An item, and the reservation of its name, as rows of the index of kept items."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

from search.kept.items import KeptItem, encode_content

ITEM: Final = "item"
_NAME: Final = "name"
PROPERTIES: Final[dict[str, Any]] = {
    **{name: {"type": "keyword"} for name in ("row", "id", "owner", "kind", "collection", "labels")},
    "changed": {"type": "long"},
}
UNFINISHED_SECONDS: Final = 600.0
"""How long a name stays reserved for an item that is not written: longer than a write is retried."""


@dataclass(frozen=True, slots=True)
class NameReservation:
    """A name of a user's items of one kind, held for one item; `mark` is unique to the call that reserved it."""

    key: str
    mark: str


def name_key(item: KeptItem) -> str:
    """The id of the row that reserves the name of an item."""
    return key_of_name(item.owner, item.kind, item.name)


def key_of_name(owner: str, kind: str, name: str) -> str:
    """The id of the row that reserves a name of a user's items of one kind."""
    parts = orjson.dumps([owner, kind, name])
    return f"name-{hashlib.sha256(parts).hexdigest()}"


def reservation_row(item: KeptItem, reservation: NameReservation) -> dict[str, Any]:
    """The row of a reservation, made now."""
    return {"row": _NAME, "owner": item.owner, "item": item.id, "mark": reservation.mark, "since": time.time()}


def item_row(item: KeptItem, reservation: NameReservation, write: str) -> dict[str, Any]:
    """The row of an item. `write` is unique to a write, by which its writer knows it again.

    The content is a text: whatever names its objects have, the cluster reads none of them.
    """
    source = asdict(item)
    source["labels"] = sorted(source.pop("shared_with"))
    source["content"] = encode_content(item.content).decode()
    return source | {"row": ITEM, "mark": reservation.mark, "write": write}


def item_of(source: Mapping[str, Any]) -> KeptItem:
    """The item in a row."""
    kept = {name: source[name] for name in source.keys() - {"row", "mark", "write", "labels", "content"}}
    return KeptItem(**kept, content=orjson.loads(source["content"]), shared_with=frozenset(source["labels"]))


def reservation_of(source: Mapping[str, Any]) -> NameReservation:
    """The reservation that the item in a row holds."""
    return NameReservation(name_key(item_of(source)), source["mark"])
