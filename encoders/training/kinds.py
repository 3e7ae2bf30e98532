"""Recipes of every kind, and the run of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from encoders.training.discourse.recipe import KIND as DISCOURSE
from encoders.training.discourse.recipe import DiscourseRecipe, parse_discourse_recipe
from encoders.training.matching.recipe import KIND as MATCHER
from encoders.training.matching.recipe import MatcherRecipe, parse_matcher_recipe
from encoders.training.recipe import Recipe, parse_recipe
from encoders.training.recipe_source import read_recipe
from encoders.training.run_folder import Log, check_kind
from mappings.errors import InvalidInput

AnyRecipe = Recipe | MatcherRecipe | DiscourseRecipe
_PARSERS: Final[Mapping[str, Callable[[Mapping[str, Any], str], AnyRecipe]]] = {
    MATCHER: parse_matcher_recipe,
    DISCOURSE: parse_discourse_recipe,
}


def load_any_recipe(source: Path | str, changes: Sequence[str] = ()) -> AnyRecipe:
    """A recipe by path or name, of whichever kind it says. Raises as `encoders.training.recipe.read_recipe` does."""
    values, name = read_recipe(source, changes)
    return _PARSERS.get(str(values.get("kind")), parse_recipe)(values, name)


def start_run(
    recipe: AnyRecipe,
    data: Path,
    out: Path,
    evaluated: Path | None = None,
    watch: Log | None = None,
    unknown_ancestry: bool = False,
) -> dict[str, Any]:
    """Train by a recipe of any kind, with the packages that its run needs; returns the report.

    Raises `InvalidInput` if torchrun started several processes for a kind that one process trains, `Conflict` for the folder
    of a run of another kind.
    """
    check_kind(out, recipe.kind)
    if not isinstance(recipe, Recipe) and os.environ.get("WORLD_SIZE", "1") != "1":
        raise InvalidInput(f"a {recipe.kind} is trained by one process: start it without torchrun", field="WORLD_SIZE")
    if isinstance(recipe, MatcherRecipe):  # it starts from no model, so there is no ancestry to allow
        from encoders.training.runs.matcher import train_matcher

        return train_matcher(recipe, data, out, evaluated, watch)
    if isinstance(recipe, DiscourseRecipe):
        from encoders.training.runs.discourse import train_discourse

        return train_discourse(recipe, data, out, evaluated, watch, unknown_ancestry)
    from encoders.training.runs.train import train

    return train(recipe, data, out, evaluated=evaluated, watch=watch, unknown_ancestry=unknown_ancestry)
