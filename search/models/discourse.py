"""The discourse models that are available here: found by name or fingerprint, loaded once, always in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from encoders.discourse.artifact import MANIFEST
from encoders.discourse.encoder import DiscourseEncoder
from mappings.collection import Collection
from mappings.errors import MedleyError, ModelError
from search.settings import Settings

NONE: Final = "none"
"""The name that switches the leg off."""
SETTING: Final = "MEDLEY_DISCOURSE"


class DiscourseModels:
    """Discourse models by the settings; threads may share it. `folders` are where model directories are looked for."""

    def __init__(self, settings: Settings, folders: Sequence[Path]) -> None:
        self._settings, self._folders = settings, folders
        self._loaded: dict[Path, DiscourseEncoder] = {}
        self._lock = threading.RLock()

    def names(self) -> list[str]:
        """The name of every directory of a discourse model, each once; of one that the settings give by its path, the path."""
        places = self._places()
        return list(dict.fromkeys(place.name if place.parent in self._folders else str(place) for place in places))

    def of(self, collection: Collection) -> DiscourseEncoder | None:
        """The model that fills a new index of the collection; None if it has no such leg. Raises `ModelError`."""
        name = self._settings.discourse or collection.discourse
        return None if name in ("", NONE) else self.get(name)

    def get(self, name: str) -> DiscourseEncoder:
        """The model called `name`; a name with a slash is the path of a directory. Raises `ModelError`."""
        return self._load(self.locate(name))

    def locate(self, name: str) -> Path:
        """The directory of the model called `name`, not verified. Raises `ModelError`, which lists the known models."""
        places = [Path(name)] if "/" in name else [folder / name for folder in self._folders]
        place = next((item for item in places if (item / MANIFEST).is_file()), None)
        if place is None:
            known = ", ".join(self.names()) or "none"
            raise ModelError(
                f"there is no discourse model {name!r}; known are {known}; or give the path of a directory",
                field=SETTING,
            )
        return place

    def find(self, fingerprint: str) -> DiscourseEncoder | None:
        """The model with this fingerprint, or None if none here has it, or the one that has it is damaged."""
        with self._lock:
            for loaded in self._loaded.values():
                if loaded.fingerprint == fingerprint:
                    return loaded
        place = self.folder_of(fingerprint)
        try:
            return self._load(place) if place else None
        except MedleyError:
            return None  # the answer will name what is missing

    def folder_of(self, fingerprint: str) -> Path | None:
        """The directory that claims this fingerprint, not verified; None if none here does."""
        return next((place for place in self._places() if _told_fingerprint(place) == fingerprint), None)

    def _places(self) -> Iterator[Path]:
        """Every directory of a discourse model, and that which the settings give as a path."""
        for folder in self._folders:
            yield from (manifest.parent for manifest in sorted(folder.glob(f"*/{MANIFEST}")))
        given = Path(self._settings.discourse)
        if "/" in self._settings.discourse and (given / MANIFEST).is_file():
            yield given

    def _load(self, place: Path) -> DiscourseEncoder:
        with self._lock:
            if place not in self._loaded:
                self._loaded[place] = DiscourseEncoder.open(place, self._settings.threads or 2)
            return self._loaded[place]


def _told_fingerprint(place: Path) -> str:
    """The fingerprint in a manifest that is not verified; "" where it can't be read."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(manifest.get("fingerprint", "")) if isinstance(manifest, dict) else ""
