"""Which collections there are, as files in their folders: `collection.json` with the kind, `tuned.toml` with measured weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mappings.errors import InvalidInput
from search.engines.embedded.layout import collection_folder, write_atomic
from search.storage import Catalogued

_KIND = "collection.json"
_TUNED = "tuned.toml"


class EmbeddedCatalog:
    """A `Catalog` over `<home>/collections/`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def names(self) -> Sequence[str]:
        """Every collection, by name."""
        return sorted(path.parent.name for path in self._home.glob(f"collections/*/{_KIND}"))

    def read(self, name: str) -> Catalogued | None:
        """What was written down of a collection; None where there is none of this name."""
        folder = collection_folder(self._home, name)
        try:
            kind = str(json.loads((folder / _KIND).read_text(encoding="utf-8"))["kind"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{folder / _KIND} is damaged: {error}", field="collection") from error
        tuned = folder / _TUNED
        return Catalogued(kind, tuned.read_text(encoding="utf-8") if tuned.is_file() else "")

    def add(self, name: str, kind: str) -> None:
        """Write down a new collection."""
        folder = collection_folder(self._home, name)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _KIND, json.dumps({"kind": kind}).encode())

    def tune(self, name: str, weights: str) -> str:
        """Put measured weights (TOML) in the place of those before; where they stand now."""
        file = collection_folder(self._home, name) / _TUNED
        write_atomic(file, weights.encode())
        return str(file)
