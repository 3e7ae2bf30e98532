"""The catalog of collections on a cluster, in `medley.admin`: every process sees the same."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from search.catalog import CatalogEntry
from search.engines.opensearch.admin import Admin
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.documents.tables import TABLES, table_name
from search.memory.cache import FreshCache

FRESH_SECONDS: Final = 1.0
_ALL: Final = "collections"
_KEYS: Final = frozenset(item.name for item in fields(CatalogEntry))


class OpenSearchCatalog:
    """A `Catalog` on the cluster; it shows the changes of other processes within `fresh_seconds`."""

    fresh_seconds = FRESH_SECONDS

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._admin = Admin(cluster)
        self._entries: FreshCache[Mapping[str, Any]] = FreshCache(FRESH_SECONDS)

    def names(self) -> Sequence[str]:
        """Every collection that is not hidden, sorted by name."""
        return sorted(name for name, entry in self._all().items() if not entry.get("phase"))

    def hidden(self) -> Sequence[str]:
        """Every collection that is arriving or leaving, sorted by name."""
        return sorted(name for name, entry in self._all().items() if entry.get("phase"))

    def read(self, name: str) -> CatalogEntry | None:
        """The entry of a collection; None where it does not exist."""
        found = self._all().get(name)
        return CatalogEntry(**{key: value for key, value in found.items() if key in _KEYS}) if found else None

    def add(self, name: str, entry: CatalogEntry) -> None:
        """Add a collection, or replace its entry; its tuned weights stay as they are."""
        content = {key: value for key, value in asdict(entry).items() if key != "tuned"}
        self._write(name, content | {"id": entry.id or secrets.token_hex(8)})

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns the index that holds them."""
        self._write(name, {"tuned": weights})
        return self._admin.index

    def size(self, name: str) -> int:
        """How many bytes the indexes of a collection take on the cluster, copies included."""
        pattern = ",".join((self._cluster.name("search", name, "*"), *self._tables(name)))
        found = self._cluster.read("GET", f"/{pattern}/_stats/store", None, {"ignore_unavailable": "true"})
        return int(found["_all"]["total"].get("store", {}).get("size_in_bytes", 0))

    def remove(self, name: str) -> None:
        """Remove a collection with what is left of its store, the entry last."""
        for table in self._tables(name):
            self._cluster.write("DELETE", f"/{table}", None, {"ignore_unavailable": "true"})
        self._admin.remove_collection(name)
        self._entries.forget(_ALL)

    def _tables(self, name: str) -> list[str]:
        return [table_name(self._cluster, name, table) for table in TABLES]

    def _write(self, name: str, entry: Mapping[str, Any]) -> None:
        self._admin.set_collection(name, entry)
        self._entries.forget(_ALL)

    def _all(self) -> Mapping[str, Any]:
        return self._entries.get(_ALL, self._admin.collections)
