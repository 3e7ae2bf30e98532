"""The catalog of collections, as files in their folders: `collection.json` has the kind, `tuned.toml` tuned weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mappings.errors import InvalidInput
from search.engines.embedded.layout import collection_folder, write_atomic
from search.storage import CatalogEntry

_KIND = "collection.json"
_TUNED = "tuned.toml"


class EmbeddedCatalog:
    """A `Catalog` over `<home>/collections/`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def names(self) -> Sequence[str]:
        """Every collection, sorted by name."""
        return sorted(path.parent.name for path in self._home.glob(f"collections/*/{_KIND}"))

    def read(self, name: str) -> CatalogEntry | None:
        """The entry of a collection; None where it does not exist."""
        folder = collection_folder(self._home, name)
        try:
            kind = str(json.loads((folder / _KIND).read_text(encoding="utf-8"))["kind"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{folder / _KIND} is damaged: {error}", field="collection") from error
        tuned = folder / _TUNED
        return CatalogEntry(kind, tuned.read_text(encoding="utf-8") if tuned.is_file() else "")

    def add(self, name: str, kind: str) -> None:
        """Add a collection."""
        folder = collection_folder(self._home, name)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _KIND, json.dumps({"kind": kind}).encode())

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns the file that holds them."""
        file = collection_folder(self._home, name) / _TUNED
        write_atomic(file, weights.encode())
        return str(file)
