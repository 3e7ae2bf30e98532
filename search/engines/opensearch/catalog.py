"""The catalog of collections on a cluster, in `medley.admin`: every process sees the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from search.cache import FreshCache
from search.engines.opensearch.admin import Admin
from search.storage import CatalogEntry

FRESH_SECONDS: Final = 1.0
_ALL: Final = "collections"


class OpenSearchCatalog:
    """A `Catalog` on the cluster; it shows the changes of other processes within a second."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._entries: FreshCache[Mapping[str, Any]] = FreshCache(FRESH_SECONDS)

    def names(self) -> Sequence[str]:
        """Every collection, sorted by name."""
        return sorted(self._all())

    def read(self, name: str) -> CatalogEntry | None:
        """The entry of a collection; None where it does not exist."""
        found = self._all().get(name)
        return CatalogEntry(found["kind"], found.get("tuned", "")) if found else None

    def add(self, name: str, kind: str) -> None:
        """Add a collection."""
        self._write(name, {"kind": kind})

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns the index that holds them."""
        self._write(name, {"tuned": weights})
        return self._admin.index

    def _write(self, name: str, entry: Mapping[str, Any]) -> None:
        self._admin.set_collection(name, entry)
        self._entries.forget(_ALL)

    def _all(self) -> Mapping[str, Any]:
        return self._entries.get(_ALL, self._admin.collections)
