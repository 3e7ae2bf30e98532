"""What the invented data sets and the tests of labels share."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LAY = {"test": "CD2", "train": "CD1"}
"""A review of each half of the plain-language summaries, which a hash of the id chooses."""


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a compressed JSONL file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
