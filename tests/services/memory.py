"""A file system in memory for the tests: they sync thousands of small files, and a disk is slow at that."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_FOLDER = Path("/dev/shm")
_BYTES = 2 * 2**30


def folder() -> Path | None:
    """The root of a file system in memory, or None if this machine has none with enough free space."""
    if not (_FOLDER.is_dir() and os.access(_FOLDER, os.W_OK)):
        return None
    return _FOLDER if shutil.disk_usage(_FOLDER).free >= _BYTES else None
