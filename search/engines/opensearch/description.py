"""The `_meta` of an index on the cluster: written once, when the index is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from encoders.tokens.format import TokenFormat
from mappings.errors import Conflict
from mappings.fields import FieldType
from mappings.indexes import READ_SCHEMAS, SCHEMA_VERSION
from search.engines.names import index_name
from search.engines.opensearch.vectors.forms import FORMS, NUMBERS, VectorForm


@dataclass(frozen=True, slots=True)
class OpenSearchIndexDescription:
    """The constant properties of an index.

    `name` is ours, `physical` the cluster's; `encoders` maps a vector field to (fingerprint, dimension); `form` is how
    vectors are sent to it, `bits` how exactly it keeps a value of them for searching.
    """

    name: str
    physical: str
    collection: str
    generation: int
    encoders: Mapping[str, tuple[str, int]]
    analysis: str
    windows: int
    fields: Mapping[str, FieldType]
    shards: int = 1
    reading: str = ""
    tokens: TokenFormat | None = None
    form: VectorForm = NUMBERS
    bits: int = 32

    @property
    def dimensions(self) -> dict[str, int]:
        """Vector field -> dimension."""
        return {name: dimension for name, (_, dimension) in self.encoders.items()}


def read_description(physical: str, index: Mapping[str, Any]) -> OpenSearchIndexDescription:
    """The description in a response of `GET /<index>`. Raises `Conflict` for another schema, or a foreign index."""
    written = index.get("mappings", {}).get("_meta") or {}
    if written.get("schema") not in READ_SCHEMAS:
        has = f"schema {written['schema']}" if "schema" in written else "no Medley schema"
        raise Conflict(
            f"index {physical} has {has}, this version reads schema {SCHEMA_VERSION}: rebuild it", field="index"
        )
    vectors = written.get("vectors", {})
    return OpenSearchIndexDescription(
        name=index_name(written["collection"], written["generation"]),
        physical=physical,
        collection=written["collection"],
        generation=written["generation"],
        encoders={name: (item["fingerprint"], item["dimension"]) for name, item in written["encoders"].items()},
        analysis=written["analysis"],
        windows=written["windows"],
        fields=written["fields"],
        shards=int(index["settings"]["index"]["number_of_shards"]),
        reading=written["reading"],
        tokens=TokenFormat(**written["tokens"]) if "tokens" in written else None,
        form=FORMS[vectors.get("form", NUMBERS.name)],
        bits=vectors.get("bits", 32),
    )


def mapping_differences(
    expected: Mapping[str, Any], actual: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, str, str]]:
    """(field, expected type, actual type) wherever two mappings differ in what affects a search."""
    for name in sorted(expected.keys() | actual.keys()):
        wanted, found = expected.get(name), actual.get(name)
        if wanted is None or found is None:
            # A missing field of the collection is reported as such, under its own name.
            if path != "fields.":
                yield f"{path}{name}", _kind(wanted), _kind(found)
        elif "properties" in wanted or "properties" in found:
            yield from mapping_differences(wanted.get("properties", {}), found.get("properties", {}), f"{path}{name}.")
        elif _decisive(wanted) != _decisive(found):
            yield f"{path}{name}", _kind(wanted), _kind(found)


def _decisive(field: Mapping[str, Any]) -> tuple[str, Any, Any]:
    return _kind(field), field.get("analyzer"), field.get("dimension")


def _kind(field: Mapping[str, Any] | None) -> str:
    return "missing" if field is None else str(field.get("type", "object"))
