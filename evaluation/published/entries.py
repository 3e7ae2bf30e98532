"""Entries of a TOML file as dataclasses: an entry has the keys of its kind, and none of them is empty."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from mappings.errors import InvalidInput

Entry = TypeVar("Entry")


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a file. Raises `InvalidInput` for one that is not valid TOML."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file.name} is not valid TOML: {error}", field=file.name) from error


def read_entry(kind: type[Entry], item: Mapping[str, Any], file: str) -> Entry:
    """An entry as the dataclass `kind`. Raises `InvalidInput`, which names the entry and its key."""
    known: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    needed: set[str] = {name for name, field in known.items() if field.default is MISSING}
    for key in (*sorted(item.keys() - known.keys()), *sorted(needed - item.keys())):
        wrong = "lacks" if key in known else "has an unknown key,"
        raise InvalidInput(f"{file}: an entry {wrong} {key!r}: {dict(item)}", field=key)
    if empty := sorted(key for key, value in item.items() if not value):
        raise InvalidInput(f"{file}: {empty[0]!r} is empty: {dict(item)}", field=empty[0])
    return kind(**item)
