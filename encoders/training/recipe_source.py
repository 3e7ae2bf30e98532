"""Where a recipe comes from: a TOML file or a shipped name, with changes of single settings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mappings.errors import InvalidInput, NotFound

RECIPES: Final = Path(__file__).parent / "recipes"


def read_recipe(source: Path | str, changes: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The table and name of a recipe by path, or of a shipped one by name, with `changes` of its settings (`NAME=VALUE`).

    A value is TOML; what is not valid TOML is text. Raises `NotFound` and `InvalidInput`.
    """
    path = Path(source)
    if not path.is_file():
        path = RECIPES / f"{source}.toml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in RECIPES.glob("*.toml")))
        raise NotFound(f"there is no recipe {str(source)!r}; give a TOML file or one of: {known}", field="recipe")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) | _read_changes(changes), path.stem
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path.name} is not valid UTF-8 at byte {error.start}: save it as UTF-8", field="recipe"
        ) from None
    except ValueError as error:  # not only TOMLDecodeError: a number can have more digits than Python parses
        raise InvalidInput(f"{path.name} is not valid TOML: {error}", field="recipe") from None


def _read_changes(changes: Sequence[str]) -> dict[str, Any]:
    """Settings by name, each from `NAME=VALUE`; of two with the same name the last counts."""
    found: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(f"{change!r} changes no setting: write NAME=VALUE, such as steps=900", field="set")
        try:
            read = tomllib.loads(f"value = {value}")
        except ValueError:
            read = {}
        found[name.strip()] = read["value"] if len(read) == 1 else value.strip()
    return found
