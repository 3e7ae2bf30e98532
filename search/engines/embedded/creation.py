"""Creates the folder of an index, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from mappings.errors import NotFound
from search.engines.embedded.integrity.manifest import Manifest
from search.engines.embedded.layout import sync_folder
from search.engines.embedded.schema import EmbeddedIndexDescription, open_index
from search.engines.embedded.tokens.files import create_files


def check_still_there(folder: Path, find: Callable[[], object]) -> None:
    """Raise `NotFound` where `find` does: the collection was removed a moment ago, and its folder, made again, goes."""
    try:
        find()
    except NotFound:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def create_folder(target: Path, description: EmbeddedIndexDescription) -> None:
    """Create the folder of an empty index atomically: it is built under another name, then renamed to `target`."""
    building = target.with_name(f".building-{target.name}")
    (building / "words").mkdir(parents=True)
    open_index(building, create=description.fields)
    description.save(building)
    Manifest().record(building, create_files(building, description.tokens) if description.tokens else {})
    os.rename(building, target)
    sync_folder(target.parent)
