"""The catalog of collections, as files in their folders: `collection.json` has the entry, `tuned.toml` tuned weights."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from mappings.errors import Damaged
from search.catalog import CatalogEntry
from search.engines.embedded import generations
from search.engines.embedded.integrity.sealed import seal, seal_text, unseal, unseal_text
from search.engines.embedded.layout import collection_folder, sync_folder, translate_errors, write_atomic

_ENTRY: Final = "collection.json"
_TUNED: Final = "tuned.toml"
_OPTIONAL: Final = frozenset(item.name for item in fields(CatalogEntry)) - {"kind", "tuned"}


class EmbeddedCatalog:
    """A `Catalog` over `<home>/collections/`."""

    fresh_seconds = 0.0

    def __init__(self, home: Path) -> None:
        self._home = home

    def names(self) -> Sequence[str]:
        """Every collection that is not hidden, sorted by name."""
        return [name for name in self._folders() if not self._is_hidden(name)]

    def hidden(self) -> Sequence[str]:
        """Every collection that is arriving or leaving, sorted by name."""
        return [name for name in self._folders() if self._is_hidden(name)]

    def read(self, name: str) -> CatalogEntry | None:
        """The entry of a collection; None where it does not exist."""
        content = self._content(name)
        if content is None:
            return None
        tuned = collection_folder(self._home, name) / _TUNED
        remedy = f"run `medley tune {name}` again, or remove its last line if you edited it"
        return CatalogEntry(**content, tuned=unseal_text(tuned, remedy) if tuned.is_file() else "")

    def add(self, name: str, entry: CatalogEntry) -> None:
        """Add a collection, or replace its entry; its tuned weights stay as they are."""
        folder = collection_folder(self._home, name)
        folder.mkdir(parents=True, exist_ok=True)
        content = {key: value for key, value in asdict(entry).items() if value and key != "tuned"}
        write_atomic(folder / _ENTRY, seal({"id": secrets.token_hex(8)} | content))

    def tune(self, name: str, weights: str) -> str:
        """Replace the tuned weights (TOML) of a collection; returns the file that holds them."""
        file = collection_folder(self._home, name) / _TUNED
        write_atomic(file, seal_text(weights))
        return str(file)

    def size(self, name: str) -> int:
        """How many bytes the files of a collection have."""
        total = 0
        for path in collection_folder(self._home, name).rglob("*"):
            with suppress(FileNotFoundError):  # removed meanwhile
                total += path.stat().st_size if path.is_file() else 0
        return total

    def remove(self, name: str) -> None:
        """Remove a collection with everything in its folder, the entry last."""
        folder = collection_folder(self._home, name)
        with translate_errors(f"the collection {name} could not be removed"):
            generations.keep_number(folder)
            for item in [path for path in folder.iterdir() if path.name != _ENTRY]:
                shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink(missing_ok=True)
            shutil.rmtree(folder)
            sync_folder(folder.parent)

    def _folders(self) -> Iterator[str]:
        yield from sorted(path.parent.name for path in self._home.glob(f"collections/*/{_ENTRY}"))

    def _is_hidden(self, name: str) -> bool:
        """Whether a collection is arriving or leaving. One whose entry can't be read is listed: its error names the file."""
        with suppress(Damaged):
            return bool((self._content(name) or {}).get("phase"))
        return False

    def _content(self, name: str) -> dict[str, Any] | None:
        remedy = 'write {"kind": "..."} with the kind of the collection into it'
        try:
            return unseal(collection_folder(self._home, name) / _ENTRY, {"kind"}, remedy, _OPTIONAL)
        except FileNotFoundError:
            return None
