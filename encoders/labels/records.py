"""Reading the public data sets as they lie in the data folder: gzipped JSON lines."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from mappings.errors import NotFound

Record = Mapping[str, Any]


def records(data: Path, name: str) -> list[Record]:
    """All objects of `data/name`. Raises `NotFound` that names the file."""
    path = data / name
    if not path.is_file():
        raise NotFound(f"{path} is not there; point MEDLEY_DATA at the folder that holds {name}", field=name)
    with gzip.open(path, "rb") as file:
        return [orjson.loads(line) for line in file]
