"""What an index on the cluster says of itself in its `_meta`: written once when it is made, never changed."""

from __future__ import annotations

from collections.abc import Mapping
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
