"""The catalog of collections, as files in their folders: `collection.json` has the kind, `tuned.toml` tuned weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from search.engines.embedded.integrity.sealed import seal, seal_text, unseal, unseal_text
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
            kind = str(
                unseal(folder / _KIND, {"kind"}, 'write {"kind": "..."} with the kind of the collection into it')[
                    "kind"
                ]
            )
        except FileNotFoundError:
            return None
        tuned, remedy = folder / _TUNED, f"run `medley tune {name}` again, or remove its last line if you edited it"
        return CatalogEntry(kind, unseal_text(tuned, remedy) if tuned.is_file() else "")

    def add(self, name: str, kind: str) -> None:
        """Add a collection."""
        folder = collection_folder(self._home, name)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _KIND, seal({"kind": kind}))

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns the file that holds them."""
        file = collection_folder(self._home, name) / _TUNED
        write_atomic(file, seal_text(weights))
        return str(file)
