"""Which collections there are, for every process of a cluster: in `medley.admin`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from search.engines.opensearch.admin import Admin
from search.storage import Catalogued

FRESH_SECONDS: Final = 1.0


class OpenSearchCatalog:
    """A `Catalog` on the cluster. What another process writes is followed within a second."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._known: tuple[float, Mapping[str, Any]] = (float("-inf"), {})

    def names(self) -> Sequence[str]:
        """Every collection, by name."""
        return sorted(self._all())

    def read(self, name: str) -> Catalogued | None:
        """What was written down of a collection; None where there is none of this name."""
        found = self._all().get(name)
        return Catalogued(found["kind"], found.get("tuned", "")) if found else None

    def add(self, name: str, kind: str) -> None:
        """Write down a new collection."""
        self._write(name, {"kind": kind})

    def tune(self, name: str, weights: str) -> str:
        """Put measured weights (TOML) in the place of those before; where they stand now."""
        self._write(name, {"tuned": weights})
        return self._admin.place

    def _write(self, name: str, described: Mapping[str, Any]) -> None:
        self._admin.set_collection(name, described)
        self._known = (float("-inf"), {})

    def _all(self) -> Mapping[str, Any]:
        read, found = self._known
        if time.monotonic() - read >= FRESH_SECONDS:
            found = self._admin.collections()
            self._known = (time.monotonic(), found)
        return found
