"""A file system in memory: the tests write thousands of small files that are synced, and a disk takes its time for each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_FOLDER = Path("/dev/shm")
_BYTES = 2 * 2**30


def folder() -> Path | None:
    """The folder of a file system in memory; none if this machine has none, or too little room there."""
    if not (_FOLDER.is_dir() and os.access(_FOLDER, os.W_OK)):
        return None
    return _FOLDER if shutil.disk_usage(_FOLDER).free >= _BYTES else None
