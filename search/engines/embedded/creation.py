"""Creates the folder of an index, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from search.engines.embedded.integrity.manifest import Manifest
from search.engines.embedded.layout import sync_folder
from search.engines.embedded.schema import EmbeddedIndexDescription, open_index


def create_folder(target: Path, description: EmbeddedIndexDescription) -> None:
    """Create the folder of an empty index atomically: it is built under another name, then renamed to `target`."""
    building = target.with_name(f".building-{target.name}")
    (building / "words").mkdir(parents=True)
    open_index(building, create=description.fields)
    description.save(building)
    Manifest().record(building, {})
    os.rename(building, target)
    sync_folder(target.parent)
