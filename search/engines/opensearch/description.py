"""What an index on the cluster says of itself in its `_meta`: written once when it is made, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mappings.collection import FieldType
from mappings.errors import Conflict
from mappings.indexes import SCHEMA_VERSION
from search.engines.names import index_name


@dataclass(frozen=True, slots=True)
class Description:
    """The unchanging part of an index. `name` is ours, `physical` the cluster's; `encoders`: field -> (fingerprint, d)."""

    name: str
    physical: str
    collection: str
    generation: int
    encoders: Mapping[str, tuple[str, int]]
    analysis: str
    windows: int
    fields: Mapping[str, FieldType]
    shards: int = 1

    @property
    def dimensions(self) -> dict[str, int]:
        """Vector field -> dimension."""
        return {name: dimension for name, (_, dimension) in self.encoders.items()}


def described(physical: str, index: Mapping[str, Any]) -> Description:
    """The description in an answer of `GET /<index>`. Raises `Conflict` for an index of another schema, or not ours."""
    written = index.get("mappings", {}).get("_meta") or {}
    if written.get("schema") != SCHEMA_VERSION:
        has = f"schema {written['schema']}" if "schema" in written else "no schema of ours"
        raise Conflict(f"index {physical} has {has}, this version reads {SCHEMA_VERSION}: rebuild it", field="index")
    return Description(
        name=index_name(written["collection"], written["generation"]),
        physical=physical,
        collection=written["collection"],
        generation=written["generation"],
        encoders={name: (item["fingerprint"], item["dimension"]) for name, item in written["encoders"].items()},
        analysis=written["analysis"],
        windows=written["windows"],
        fields=written["fields"],
        shards=int(index["settings"]["index"]["number_of_shards"]),
    )


def differing(meant: Mapping[str, Any], live: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """(field, type as meant, type as it is) wherever the properties of a mapping differ in what decides a search."""
    for name in sorted(meant.keys() | live.keys()):
        here, there = meant.get(name), live.get(name)
        if here is None or there is None:
            # A field of the collection that is missing is told as such, by its own name.
            if path != "fields.":
                yield f"{path}{name}", _kind(here), _kind(there)
        elif "properties" in here or "properties" in there:
            yield from differing(here.get("properties", {}), there.get("properties", {}), f"{path}{name}.")
        elif (_kind(here), here.get("analyzer"), here.get("dimension")) != (
            _kind(there),
            there.get("analyzer"),
            there.get("dimension"),
        ):
            yield f"{path}{name}", _kind(here), _kind(there)


def _kind(field: Mapping[str, Any] | None) -> str:
    return "nothing" if field is None else str(field.get("type", "object"))
